/// Family 12.
#include <cmath>
#include <limits>

#include "scenes.h"

namespace calkit::lint {

namespace {

calbin::Golden& golden(Scene& s, std::size_t i = 0) {
  return s.package.description.golden[i];
}
std::vector<float> row(float value, std::size_t count = 32) {
  return std::vector<float>(count, value);
}
Tensor logits(const std::vector<float>& values) {
  return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values);
}

/// The good files with one of them replaced.
LintCase file(const char* name, Ids expected, std::string id, Members members) {
  return {name, std::move(expected), [id = std::move(id), members = std::move(members)](Scene& s) {
            add_golden_files(s);
            set_golden(s, id, members);
          }};
}
LintCase prefill_outputs(const char* name, Ids expected, Members members) {
  return file(name, std::move(expected), "golden.prefill.outputs", std::move(members));
}
LintCase prefill_inputs(const char* name, Ids expected, Members members) {
  return file(name, std::move(expected), "golden.prefill.inputs", std::move(members));
}

std::vector<LintCase> present_cases() {
  return {
      {"no golden for the decode", {"CB1201"}, [](Scene& s) { s.package.description.golden.pop_back(); }},
      {"no golden at all, no service given",
       {"CB1201"},
       [](Scene& s) {
         s.package.description.golden.clear();
         s.service.reset();
       }},
      {"a golden under another name", {"CB1201"}, [](Scene& s) { golden(s).submodel = "mini-prefil"; }},
      {"a digest without its recipe", {"CB1201"}, [](Scene& s) { golden(s).recipe.clear(); }},
      {"a golden of nothing",
       {"CB1201"},
       [](Scene& s) {
         golden(s).recipe.clear();
         golden(s).digest.clear();
       }},
      {"CB1201 near: files instead of digests", {}, [](Scene& s) { add_golden_files(s); }},
      {"CB1201 near: a submodel that nobody binds", {}, [](Scene& s) { add_decode(s, "spare"); }},
  };
}

std::vector<LintCase> shape_cases() {
  const auto tokens = Tensor::of<std::int32_t>({3}, {1, 2, 3});
  const auto top = Tensor::of<float>({1, 2}, {2, 1});
  return {
      prefill_outputs("golden logits of another vocabulary", {"CB1202"}, {{"logits.0", logits(row(1, 31))}}),
      prefill_outputs("golden logits in f64", {"CB1202"},
                      {{"logits.0", Tensor::of<double>({32}, std::vector<double>(32, 1.0))}}),
      prefill_outputs("golden logits for no prompt", {"CB1202"}, {{"logits.1", logits(row(1))}}),
      prefill_outputs("a golden member nobody knows", {"CB1202"},
                      {{"logits.0", logits(row(1))}, {"lm", logits(row(1))}}),
      prefill_outputs("golden outputs without one member", {"CB1202"}, {}),
      prefill_inputs("golden inputs without one member", {"CB1202"}, {}),
      prefill_outputs("golden outputs of nothing that is known", {"CB1202"}, {{"lm", logits(row(1))}}),
      {"golden inputs and outputs in each other's place",
       {"CB1202"},
       [](Scene& s) {
         add_golden_files(s);
         std::swap(golden(s).inputs, golden(s).outputs);
       }},
      {"the outputs of another submodel's golden",
       {"CB1202"},
       [](Scene& s) {
         add_golden_files(s);
         golden(s).outputs = golden(s, 1).outputs;
       }},
      {"a golden entry twice",
       {"CB1202"},
       [](Scene& s) {
         add_golden_files(s);
         s.package.description.golden.push_back(golden(s, 1));
       }},
      prefill_outputs("CB1202 near: logits under the tensor's own name", {},
                      {{"logits.0", Tensor::of<float>({1, 32}, row(1))}}),
      {"CB1202 near: f32 for declared bf16",
       {},
       [](Scene& s) {
         add_golden_files(s);
         for (auto& submodel : s.package.description.submodels) {
           submodel.outputs[0].dtype = DType::kBF16;
           submodel.outputs[0].size /= 2;
           submodel.outputs[0].layout.strides_bytes = {64, 2};
         }
       }},
      prefill_inputs("a golden prompt with an id beyond the vocabulary", {"CB1202"},
                     {{"tokens.0", Tensor::of<std::int32_t>({2}, {1, 32})}}),
      prefill_inputs("a golden prompt with a negative id", {"CB1202"},
                     {{"tokens.0", Tensor::of<std::int32_t>({2}, {1, -1})}}),
      prefill_inputs("a golden prompt longer than the context", {"CB1202"},
                     {{"tokens.0", Tensor::of<std::int32_t>({65}, std::vector<std::int32_t>(65, 1))}}),
      prefill_inputs("a golden prompt of floats", {"CB1202"}, {{"tokens.0", logits(row(1, 3))}}),
      prefill_inputs("CB1202 near: a prompt that fills the context", {},
                     {{"tokens.0", Tensor::of<std::int64_t>({64}, std::vector<std::int64_t>(64, 31))}}),
      file("candidates without their logits", {"CB1202"}, "golden.decode.outputs",
           {{"top_ids", Tensor::of<std::int32_t>({1, 2}, {4, 5})}}),
      file("candidates of another shape than their logits", {"CB1202"}, "golden.decode.outputs",
           {{"top_ids", Tensor::of<std::int32_t>({2}, {4, 5})}, {"top_logits", top}}),
      {"a golden file that is no npz",
       {"CB1202"},
       [](Scene& s) {
         add_golden_files(s);
         s.package.files["golden/golden.prefill.outputs.npz"] = "no archive";
       }},
      prefill_outputs("NaN in golden logits", {"CB1203"}, {{"logits.0", logits(row(std::nanf("")))}}),
      prefill_outputs("infinity in golden logits", {"CB1203"},
                      {{"logits.0", logits(row(std::numeric_limits<float>::infinity()))}}),
      prefill_outputs("CB1203 near: the largest float", {},
                      {{"logits.0", logits(row(std::numeric_limits<float>::max()))}}),
      file("NaN among the candidates", {"CB1203"}, "golden.decode.outputs",
           {{"top_ids", Tensor::of<std::int32_t>({1, 2}, {4, 5})},
            {"top_logits", Tensor::of<float>({1, 2}, {1, std::nanf("")})}}),
  };
}

std::vector<LintCase> use_cases() {
  const std::string other = "sha256:" + std::string(63, 'a') + "b";
  const auto made = [](const char* name, Ids expected, std::string key, std::string value) {
    return LintCase{name, std::move(expected),
                    [key = std::move(key), value = std::move(value)](Scene& s) { golden(s).made_with[key] = value; }};
  };
  const auto board = [](const char* name, Ids expected, std::vector<std::int64_t> covers) {
    return LintCase{name, std::move(expected), [covers = std::move(covers)](Scene& s) {
                      as_board(s);
                      golden(s).covers = covers;
                    }};
  };
  const auto covers = [](const char* name, Ids expected, std::int64_t length) {
    return LintCase{name, std::move(expected), [length](Scene& s) { golden(s).covers = {1, length}; }};
  };
  return {
      covers("a golden that covers a prompt longer than the context", {"CB1202"}, 65),
      covers("CB1202 near: a golden that covers the whole context", {}, 64),
      made("a golden of another tokenizer", {"CB1204"}, "tokenizer_digest", other),
      made("a golden of another configuration", {"CB1204"}, "config_digest", other),
      made("a golden of another graph", {"CB1204"}, "onnx_digest", other),
      made("goldens of two models", {"CB1204"}, "model_digest", other),
      {"a golden of nobody knows which model", {"CB1204"}, [](Scene& s) { golden(s).made_with.erase("model_digest"); }},
      {"goldens of another model than the frozen one",
       {"CB1204"},
       [other](Scene& s) {
         s.baseline = frozen_manifest(s.package.description);
         for (auto& entry : s.package.description.golden) entry.made_with["model_digest"] = other;
       }},
      {"a digest that is not that of the outputs",
       {"CB1204"},
       [other](Scene& s) {
         add_golden_files(s);
         golden(s).digest = other;
       }},
      {"CB1204 near: made with the package's own",
       {},
       [](Scene& s) {
         const auto& d = s.package.description;
         auto& with = golden(s).made_with;
         with["tokenizer_digest"] = d.model.tokenizer_digest;
         with["config_digest"] = d.model.config_digest;
         with["onnx_digest"] = d.provenance.input_onnx_digest.at("prefill");
       }},
      board("golden prompts of one length", {"CB1205"}, {5}),
      board("golden prompts without the end of the context", {"CB1205"}, {1, 2, 15, 16, 17}),
      board("golden prompts without one boundary", {"CB1205"}, {1, 2, 15, 17, 64}),
      board("CB1205 near: lengths up to the context alone", {}, {1, 2, 15, 16, 17, 63}),
      {"CB1205 near: lengths of the prompts in the file",
       {},
       [](Scene& s) {
         as_board(s);
         add_golden_files(s);
         Members in, out;
         for (const std::int64_t length : {1, 2, 15, 16, 17, 64}) {
           const auto n = std::to_string(in.size());
           in.emplace_back("tokens." + n, Tensor::of<std::int32_t>({length}, std::vector<std::int32_t>(
                                                                                 static_cast<std::size_t>(length), 1)));
           out.emplace_back("logits." + n, logits(row(1)));
         }
         set_golden(s, "golden.prefill.inputs", in);
         set_golden(s, "golden.prefill.outputs", out);
         golden(s).covers.clear();
       }},
  };
}

}  // namespace

std::vector<LintCase> golden_cases() {
  auto out = present_cases();
  for (auto part : {shape_cases(), use_cases()}) out.insert(out.end(), part.begin(), part.end());
  return out;
}

}  // namespace calkit::lint
