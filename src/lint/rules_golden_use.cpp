/// Family 12, second part: golden results belong to this model, and cover the lengths where errors sit.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calkit/tensor/npz.h"
#include "families.h"

namespace calkit::lint {

namespace {

constexpr std::int64_t kBoundaries[] = {1, 2, 15, 16, 17, 255, 256, 257};

void stale(Check& check, const std::string& pointer, const std::string& submodel, const std::string& what,
           const std::string& found, std::string limit) {
  check.report(pointer, {fmt::format("the golden result of '{}' was made with another {}", submodel, what), found,
                         std::move(limit), "record the golden again with what is in the package"});
}

void compare_made_with(Check& check, const calbin::Golden& golden, const std::string& pointer) {
  const auto& d = check.d();
  const auto compare = [&](const char* key, const std::string& wanted, const char* what, const char* whose) {
    const auto at = golden.made_with.find(key);
    if (at != golden.made_with.end() && !wanted.empty() && at->second != wanted)
      stale(check, fmt::format("{}/made_with/{}", pointer, key), golden.submodel, what, at->second,
            fmt::format("{} {}", whose, wanted));
  };
  compare("config_digest", d.model.config_digest, "model configuration", "model.config_digest");
  compare("tokenizer_digest", d.model.tokenizer_digest, "tokenizer", "model.tokenizer_digest");
  compare("chat_template_digest", d.model.chat_template_digest, "chat template", "model.chat_template_digest");
  if (check.facts().baseline) compare("model_digest", check.facts().baseline->model_digest, "model", "frozen baseline");
  const auto* submodel = d.submodel(golden.submodel);
  if (submodel == nullptr) return;
  const auto onnx = d.provenance.input_onnx_digest.find(submodel->type);
  if (onnx != d.provenance.input_onnx_digest.end())
    compare("onnx_digest", onnx->second, "ONNX graph", "provenance.input_onnx_digest");
}

void check_stale(Check& check) {
  const auto& d = check.d();
  for (const char* fact : {"/model", "/provenance"})
    if (!check.usable(fact)) return;
  const calbin::Golden* first = nullptr;
  for (std::size_t i = 0; i < d.golden.size(); ++i) {
    const auto& golden = d.golden[i];
    const auto pointer = fmt::format("/golden/{}", i);
    if (!check.usable(pointer)) continue;
    compare_made_with(check, golden, pointer);
    const auto model = golden.made_with.find("model_digest");
    if (model == golden.made_with.end())
      check.warn(pointer, {fmt::format("nothing says which model answered for '{}'", golden.submodel),
                           "no made_with.model_digest", "the digest of the model the golden was recorded with",
                           "record it; without it an old golden looks like a new one"});
    else if (first != nullptr && first->made_with.at("model_digest") != model->second)
      stale(check, pointer + "/made_with/model_digest", golden.submodel, "model than that of another submodel",
            model->second, fmt::format("{}, as for '{}'", first->made_with.at("model_digest"), first->submodel));
    else
      first = &golden;
    const auto* file = golden.outputs.empty() ? nullptr : check.file(golden.outputs);
    if (file != nullptr && !file->digest.empty() && !golden.digest.empty() && golden.recipe.empty() &&
        golden.digest != file->digest)
      stale(check, pointer + "/digest", golden.submodel, "set of outputs", golden.digest,
            fmt::format("{} of file '{}'", file->digest, file->path));
  }
}

/// The lengths of the prompts in a file, by the names the runner reads.
void add_lengths(Check& check, const std::string& id, std::set<std::int64_t>& lengths) {
  const auto at = check.facts().file_index.find(id);
  if (id.empty() || at == check.facts().file_index.end() ||
      check.facts().files[at->second].state != FileState::kPresent)
    return;
  const auto mapped = check.facts().map(check.d().files[at->second].path);
  if (!mapped.ok()) return;
  const auto read =
      visit_npz((*mapped)->bytes(), "golden", [&](const std::string& name, const Tensor& tensor) -> Status {
        if (name.starts_with("tokens") && !tensor.shape().empty()) lengths.insert(tensor.shape().back());
        return {};
      });
  static_cast<void>(read.ok());  // CB1202
}

void check_covered(Check& check) {
  const auto& d = check.d();
  if (!check.usable("/golden") || !check.usable("/package/compat/device")) return;
  if (d.compat.device == "emulated")
    return check.not_applicable("the runner compares an emulated package with the whole frozen baseline");
  std::set<std::int64_t> lengths;
  bool prefill = false;
  for (const auto& golden : d.golden) {
    const auto* submodel = d.submodel(golden.submodel);
    if (submodel == nullptr || submodel->type != "prefill") continue;
    prefill = true;
    lengths.insert(golden.covers.begin(), golden.covers.end());
    add_lengths(check, golden.inputs, lengths);
  }
  if (!prefill) return;  // CB1201
  std::string missing;
  for (const std::int64_t length : kBoundaries)
    if (length <= d.limits.context && !lengths.contains(length)) missing += fmt::format(" {}", length);
  const std::int64_t near = d.limits.context - d.limits.context / 64;
  if (lengths.lower_bound(near) == lengths.end()) missing += fmt::format(" {}..{}", near, d.limits.context);
  if (missing.empty()) return;
  check.report("/golden", {"golden prompts leave out lengths where layouts and buffers change",
                           fmt::format("{} lengths, none of:{}", lengths.size(), missing),
                           "1 2 15 16 17 255 256 257 as far as the context goes, and one near its end",
                           "record golden results for prompts of these lengths"});
}

}  // namespace

std::vector<Rule> golden_use_rules() {
  return {
      {{"CB1204", "golden-stale", Severity::kError, RuleClass::kIncompatible,
        "golden results were recorded with this model, tokenizer and graph", "7h", Maturity::kPreview},
       {"/golden/*/submodel,outputs,digest,recipe,made_with",
        "/model/config_digest,tokenizer_digest,chat_template_digest", "/provenance/input_onnx_digest",
        "/files/*/id,path", "/submodels/*/name,type"},
       &check_stale},
      {{"CB1205", "golden-coverage", Severity::kWarning, RuleClass::kPolicy,
        "golden prompts cover the boundary lengths", "7h", Maturity::kPreview},
       {"/golden/*/submodel,inputs,covers", "/submodels/*/name,type", "/limits/context", "/package/compat/device"},
       &check_covered},
  };
}

}  // namespace calkit::lint
