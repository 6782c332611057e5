/// Family 03: shapes against types, and names.
#include "scenes.h"

namespace calkit::lint {

namespace {

calbin::IoTensor& tokens(Scene& s) {
  return s.package.prefill_model().inputs[0];
}

/// Renames the decode submodel everywhere but in the service.
void rename_decode(Scene& s, const std::string& name) {
  s.package.decode_model().name = name;
  s.package.decode.submodel = name;
  s.package.description.golden[1].submodel = name;
}
void serve_decode(Scene& s, const std::string& name) {
  rename_decode(s, name);
  s.service->decode_model = name;
}
LintCase named(const char* name, Ids expected, std::string decode) {
  return {name, std::move(expected), [decode = std::move(decode)](Scene& s) { serve_decode(s, decode); }};
}
LintCase second(const char* name, Ids expected, std::string decode) {
  return {name, std::move(expected), [decode = std::move(decode)](Scene& s) { add_decode(s, decode); }};
}
LintCase listed(const char* name, Ids expected, std::string path) {
  return {name, std::move(expected), [path = std::move(path)](Scene& s) { add_file(s, "extra", path, "log", "ok\n"); }};
}

std::vector<LintCase> shape_cases() {
  return {
      {"a prefill whose token input is too short",
       {"CB0303", "CB0509"},
       [](Scene& s) {
         tokens(s).shape = tokens(s).layout.logical_shape = {1, 8};
         tokens(s).layout.strides_bytes = {64, 8};
         tokens(s).size = 64;
         s.package.prefill.ops[2].reads[0].size = 64;
       }},
      {"a prefill that says fewer tokens than its inputs hold",
       {"CB0303", "CB0412"},
       [](Scene& s) { s.package.prefill_model().tokens.max = 8; }},
      {"tokens without an axis for the batch",
       {"CB0303"},
       [](Scene& s) {
         tokens(s).shape = tokens(s).layout.logical_shape = {16};
         tokens(s).layout.strides_bytes = {8};
       }},
      {"positions of three axes",
       {"CB0303"},
       [](Scene& s) {
         auto& position = s.package.prefill_model().inputs[1];
         position.dtype = DType::kI64;
         position.shape = position.layout.logical_shape = {1, 1, 16};
         position.layout.strides_bytes = {128, 128, 8};
       }},
      {"a call longer than the context",
       {"CB0303"},
       [](Scene& s) {
         s.package.prefill_model().context = 15;
         s.package.description.golden[0].covers = {15};
         s.service->context = 15;
       }},
      {"CB0303 near: a call that fills the context",
       {},
       [](Scene& s) {
         s.package.prefill_model().context = 16;
         s.package.description.golden[0].covers = {16};
         s.service->context = 16;
       }},
      {"a decode that reads nothing",
       {"CB0303", "CB0408", "CB0509"},
       [](Scene& s) { s.package.decode_model().inputs.clear(); }},
      {"CB0303 near: a decode that reads embeddings",
       {"CB0408"},
       [](Scene& s) { s.package.decode_model().inputs[0].role = "hidden"; }},
  };
}

std::vector<LintCase> name_cases() {
  return {
      second("two names that differ by case", {"CB0305"}, "Mini-Decode"),
      second("two names that differ by a Cyrillic letter", {"CB0305"},
             "mini-d\xd0\xb5"
             "code"),
      second("two names that differ by a separator", {"CB0305"}, "mini_decode"),
      second("two names that differ by an invisible character", {"CB0305"},
             "mini-\xe2\x80\x8b"
             "decode"),
      second("a name that holds another", {"CB0305"}, "mini-decode-spare"),
      second("CB0305 near: names that share a beginning", {}, "mini-destination"),
      second("CB0305 near: names of one length", {}, "mini-spare"),
      named("a blank at the end of a name", {"CB0308"}, "mini-decode "),
      named("a slash in a name", {"CB0308"}, "mini/decode"),
      named("a control character in a name", {"CB0308"}, "mini\tdecode"),
      named("a letter in two parts", {"CB0308"},
            "mini-de\xcc\x81"
            "code"),
      named("a name of 256 bytes", {"CB0308"}, std::string(256, 'd')),
      named("a format specifier in a name", {"CB0308"}, "mini-%s"),
      named("CB0308 near: a name of 255 bytes", {}, std::string(255, 'd')),
      named("CB0308 near: a composed letter", {},
            "mini-d\xc3\xa9"
            "code"),
      named("CB0308 near: another script", {}, "\xe8\xa7\xa3\xe7\xa0\x81"),
      {"CB0308 near: a slash in the name of a tensor",
       {},
       [](Scene& s) { s.package.prefill_model().inputs[0].name = "model/token_ids"; }},
      named("another batch in the name than in the field", {"CB0309"}, "mini-decode-b4"),
      named("CB0309 near: the field's batch in the name", {}, "mini-decode-b1"),
      named("another context in the name", {"CB0309"}, "mini-decode-ctx128"),
      named("CB0309 near: the field's context in the name", {}, "mini-decode-ctx64"),
      listed("another number of chips in a file's name", {"CB0309"}, "build_2_chips.log"),
      listed("CB0309 near: the field's number of chips", {}, "build_1_chips.log"),
      listed("widths in a name and in no field", {"CB0309"}, "build_w8a8.log"),
      listed("a partition in a name", {"CB0309"}, "build.tp2.log"),
      listed("a round number in a name", {"CB0309"}, "build_40960.log"),
      listed("CB0309 near: a number that is no context", {}, "build_40961.log"),
      {"widths in a name that are not the scheme's",
       {"CB0309"},
       [](Scene& s) {
         quantise(s);
         add_file(s, "extra", "build_w4a8.log", "log", "ok\n");
       }},
      {"CB0309 near: the scheme's widths in a name",
       {},
       [](Scene& s) {
         quantise(s);
         add_file(s, "extra", "build_w8a8.log", "log", "ok\n");
       }},
      {"another chip in a file's name",
       {"CB0309"},
       [](Scene& s) {
         add_file(s, "extra", "profile.chip1.txt", "profile", "ok\n");
         s.package.file("extra").chips = 1;
       }},
  };
}

}  // namespace

std::vector<LintCase> submodel_shape_cases() {
  auto out = shape_cases();
  for (auto part : {name_cases()}) out.insert(out.end(), part.begin(), part.end());
  return out;
}

}  // namespace calkit::lint
