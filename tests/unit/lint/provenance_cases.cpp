/// Family 11, and the versions of family 02.
#include "calkit/base/hash.h"
#include "scenes.h"

namespace calkit::lint {

namespace {

calbin::Provenance& made(Scene& s) {
  return s.package.description.provenance;
}

LintCase board(const char* name, Ids expected, std::function<void(Scene&)> change) {
  return {name, std::move(expected), [change = std::move(change)](Scene& s) {
            as_board(s);
            change(s);
          }};
}

LintCase revision(const char* name, Ids expected, const char* commit) {
  return board(name, std::move(expected), [commit](Scene& s) { made(s).commits["kernel"] = commit; });
}

LintCase container(const char* name, Ids expected, std::string image) {
  return board(name, std::move(expected), [image = std::move(image)](Scene& s) { made(s).container_digest = image; });
}

LintCase argument(const char* name, Ids expected, std::string word) {
  return {name, std::move(expected), [word = std::move(word)](Scene& s) { made(s).argv.push_back(word); }};
}

std::vector<LintCase> runtime_cases() {
  const auto abi = [](const char* name, Ids expected, const char* text) {
    return LintCase{name, std::move(expected), [text](Scene& s) { s.package.description.compat.runtime_abi = text; }};
  };
  return {
      abi("CB0209 near: a range that holds the runtime", {}, ">=0.7.6 <0.8"),
      abi("CB0209 near: any runtime", {}, "any"),
      abi("a range above the runtime", {"CB0209"}, ">=0.7.7 <0.8"),
      abi("a range that ends before the runtime", {"CB0209"}, "<0.7.6"),
      abi("a runtime that is no version", {"CB0209"}, "latest"),
      abi("a runtime with a wildcard", {"CB0209"}, "0.7.x"),
      {"a driver that is no version", {"CB0209"}, [](Scene& s) { s.package.description.compat.driver = "newest"; }},
      board("CB0209 near: a board with a row", {}, [](Scene&) {}),
      board("a device without a row", {"CB0209"}, [](Scene& s) { s.support.reset(); }),
      board("a row that says no", {"CB0209"}, [](Scene& s) { s.support->rows[0].supported = false; }),
      board("a row for other drivers", {"CB0209"},
            [](Scene& s) {
              s.support->rows[0].key.driver = ">=2";
              s.package.description.compat.driver = ">=1 <2";
            }),
      board("CB0209 near: a row for some of the drivers", {},
            [](Scene& s) {
              s.support->rows[0].key.driver = ">=2";
              s.package.description.compat.driver = ">=1 <=2";
            }),
      board("a row for another firmware", {"CB0209"},
            [](Scene& s) {
              s.support->rows[0].key.firmware = "3.1";
              s.package.description.compat.firmware = "3.2";
            }),
      {"a service without a runtime version", {"CB0209"}, [](Scene& s) { s.service->runtime_abi = "0.7"; }},
  };
}

std::vector<LintCase> build_cases() {
  const std::string digest = "sha256:" + std::string(63, 'a') + "b";
  return {
      {"neither a commit nor a reason", {"CB1101"}, [](Scene& s) { made(s).notes.erase("tvm"); }},
      {"a reason that says nothing", {"CB1101"}, [](Scene& s) { made(s).notes["tvm"] = " "; }},
      {"no command", {"CB1101"}, [](Scene& s) { made(s).argv.clear(); }},
      {"a command of empty words", {"CB1101"}, [](Scene& s) { made(s).argv = {""}; }},
      {"no graph for the decode", {"CB1101"}, [](Scene& s) { made(s).input_onnx_digest.erase("decode"); }},
      board("a board with a reason for a commit", {"CB1101"},
            [](Scene& s) {
              made(s).commits.erase("tvm");
              made(s).notes["tvm"] = "not used";
            }),
      board("CB1101 near: a reason beside a commit", {}, [](Scene& s) { made(s).notes["tvm"] = "a fork"; }),
      revision("a branch", {"CB1102"}, "main"),
      revision("a tag", {"CB1102"}, "v0.7.6"),
      revision("a hash of 7 digits", {"CB1102"}, "0123abc"),
      revision("a hash of 12 digits", {"CB1102"}, "0123456789ab"),
      revision("a hash of a dirty tree", {"CB1102"}, "0123456789abcdef0123456789abcdef01234567-dirty"),
      revision("a hash of zeros", {"CB1102"}, "0000000000000000000000000000000000000000"),
      revision("a hash in capitals", {"CB1102"}, "0123456789ABCDEF0123456789ABCDEF01234567"),
      revision("CB1102 near: a hash of 64 digits", {},
               "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
      {"a checkpoint's branch", {"CB1102"}, [](Scene& s) { s.package.description.model.hf_revision = "main"; }},
      {"CB1102 near: a checkpoint's commit",
       {},
       [](Scene& s) { s.package.description.model.hf_revision = "0123456789abcdef0123456789abcdef01234567"; }},
      {"graphs in the package, others compiled",
       {"CB1103"},
       [](Scene& s) { add_file(s, "onnx.prefill", "onnx/prefill.onnx", "onnx", "prefill of today"); }},
      {"one graph in the package, the other compiled from elsewhere",
       {"CB1103"},
       [](Scene& s) { add_file(s, "onnx.prefill", "onnx/prefill.onnx", "onnx", "prefill"); }},
      {"CB1103 near: the compiled graphs and weights beside them",
       {},
       [](Scene& s) {
         for (const char* phase : {"prefill", "decode"})
           add_file(s, std::string("onnx.") + phase, std::string("onnx/") + phase + ".onnx", "onnx", phase);
         add_file(s, "onnx.weights", "onnx/weights.data", "onnx", "weights");
       }},
      container("a container by tag", {"CB1104"}, "registry.example/tools:0.7.6"),
      container("a container by a short digest", {"CB1104"}, "registry.example/tools@sha256:0123"),
      container("CB1104 near: a bare digest", {}, digest),
      board("a board built in no container", {"CB1104"},
            [](Scene& s) {
              made(s).container_digest.clear();
              made(s).notes["container_digest"] = "built on a laptop";
            }),
  };
}

std::vector<LintCase> leak_cases() {
  const std::string letters = "abcdefghijklmnopqrstuvwxyzABCDEFGH";
  return {
      argument("a home folder in the command", {"CB1105"}, "--out=/home/alice/qwen"),
      argument("a home folder of another system", {"CB1105"}, "C:\\Users\\alice\\qwen"),
      argument("a token in the command", {"CB1105"}, "--token=hf_" + letters),
      argument("a password in an address", {"CB1105"}, "https://alice:secret@example.com/x"),
      argument("an internal host", {"CB1105"}, "--cache=build7.corp"),
      argument("a private address", {"CB1105"}, "http://192.168.1.7:8080/x"),
      argument("CB1105 near: a neutral path", {}, "/opt/vendor/home/bin/compile"),
      argument("CB1105 near: a public address", {}, "https://example.com/home/x"),
      argument("CB1105 near: a version that looks like an address", {}, "10.1.2.3"),
      argument("CB1105 near: a hidden folder", {}, "share/.local/tool"),
      argument("CB1105 near: a short word that begins like a token", {}, "hf_model"),
      {"a variable that names a secret", {"CB1105"}, [](Scene& s) { made(s).env_allow["BUILD_TOKEN"] = "12345"; }},
      {"CB1105 near: a variable without a secret", {}, [](Scene& s) { made(s).env_allow["OMP_NUM_THREADS"] = "8"; }},
      {"a home folder in an unknown field",
       {"CB1105"},
       [](Scene& s) {
         const std::string administrator = "root";
         s.package.edit_document = [administrator](Value& d) {
           d.set("x-note", Value::array({"built in /" + administrator + "/build"}));
         };
       }},
      {"a private key in a log",
       {"CB1105"},
       [](Scene& s) { add_file(s, "log", "build.log", "log", "ok\n-----BEGIN OPENSSH PRIVATE KEY-----\n"); }},
      {"a token in a command text",
       {"CB1105"},
       [letters](Scene& s) { add_file(s, "profile", "profile.txt", "profile", "key ghp_" + letters + "\n"); }},
      {"CB1105 near: a public certificate in a log",
       {},
       [](Scene& s) { add_file(s, "log", "build.log", "log", "-----BEGIN CERTIFICATE-----\n"); }},
  };
}

}  // namespace

std::vector<LintCase> provenance_cases() {
  auto out = runtime_cases();
  for (auto part : {build_cases(), leak_cases()}) out.insert(out.end(), part.begin(), part.end());
  return out;
}

}  // namespace calkit::lint
