// coverage.json, probes.npz and noise.json of a baseline against its prompts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "calkit/base/files.h"
#include "calkit/frozen/writer.h"
#include "calkit/tensor/npz.h"
#include "layout.h"
#include "verify.h"

namespace calkit::frozen {
namespace {

namespace fs = std::filesystem;

class DocumentChecker {
 public:
  DocumentChecker(const fs::path& dir, const Reference& read, const hf::ModelSpec* spec,
                  std::vector<std::string>& findings)
      : dir_(dir), read_(read), spec_(spec), findings_(findings) {}

  void coverage_file() {
    const auto stored = read_json(dir_ / kReferenceDir / kCoverage);
    if (!stored.ok())
      findings_.push_back(stored.error().message);
    else if (!(*stored == coverage(read_)))
      fault(kCoverage, "other counts", "the counts of the prompts that are there");
    // A prompt either has an answer or a reason for none.
    std::set<std::string_view> seen;
    for (const ReferenceItem& item : read_.items) seen.insert(item.prompt.id);
    for (const auto* list : {&read_.refused, &read_.left_out})
      for (const Unanswered& prompt : *list)
        if (!seen.insert(prompt.id).second)
          fault(kCoverage, fmt::format("prompt {} without an answer", prompt.id), "each prompt once, answered or not");
  }

  void probes() {
    const auto members = read_npz(dir_ / kReferenceDir / kProbes);
    if (!members.ok()) return findings_.push_back(members.error().message);
    for (const auto& [name, tensor] : *members) {
      if (tensor.dtype() != DType::kF32) continue;
      const auto values = tensor.data<float>();
      const auto bad = std::count_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
      if (bad > 0) fault(kProbes, fmt::format("{} NaN or infinite values in {}", bad, name), "finite numbers");
    }
    if (spec_ != nullptr) probe_shapes(*members);
  }

  void noise() {
    const auto stored = read_json(dir_ / kReferenceDir / kNoise);
    if (!stored.ok()) return findings_.push_back(stored.error().message);
    const Status status = read_noise(Cursor(*stored, fmt::format("{}/{}", kReferenceDir, kNoise)));
    if (!status.ok()) findings_.push_back(status.error().message);
  }

 private:
  using Members = std::map<std::string, Tensor>;

  void fault(std::string_view file, std::string_view found, std::string_view wanted) {
    findings_.push_back(fmt::format("{}/{}: found {}; wanted {}", kReferenceDir, file, found, wanted));
  }

  void probe_shapes(const Members& members) {
    const bool any =
        std::any_of(read_.items.begin(), read_.items.end(), [](const auto& item) { return !item.ids.empty(); });
    std::vector<std::string> names = probe_names(*spec_);
    names.emplace_back("token_ids");
    for (const auto& [name, tensor] : members)
      if (!any || std::find(names.begin(), names.end(), name) == names.end())
        fault(kProbes, fmt::format("an array {}", name), "the arrays that a freeze writes");
    if (!any) return;
    const std::int64_t tokens = probe_tokens(members);
    for (const std::string& name : names) {
      const auto found = members.find(name);
      if (found == members.end()) {
        fault(kProbes, fmt::format("no array {}", name), "the arrays that a freeze writes");
        continue;
      }
      if (name == "token_ids" || tokens < 0) continue;
      const Tensor& tensor = found->second;
      const Shape shape{tokens, spec_->hidden};
      if (tensor.dtype() != DType::kF32 || tensor.shape() != shape)
        fault(kProbes, fmt::format("{} {} in {}", dtype_name(tensor.dtype()), shape_text(tensor.shape()), name),
              "f32 " + shape_text(shape));
    }
  }

  // How many tokens the probed prompt has; -1: it is none of the prompts.
  std::int64_t probe_tokens(const Members& members) {
    const auto found = members.find("token_ids");
    if (found == members.end()) return -1;
    const Tensor& tensor = found->second;
    if (tensor.dtype() == DType::kI64 && tensor.rank() == 1) {
      const auto ids = tensor.data<std::int64_t>();
      for (const ReferenceItem& item : read_.items)
        if (!item.ids.empty() && std::equal(ids.begin(), ids.end(), item.ids.begin(), item.ids.end()))
          return tensor.dim(0);
    }
    fault(kProbes, fmt::format("{} {} in token_ids", dtype_name(tensor.dtype()), shape_text(tensor.shape())),
          "the i64 ids of one of the prompts");
    return -1;
  }

  Status read_noise(const Cursor& at) const {
    CALKIT_CHECK_OK(at.only({"schema", "dtype", "what", "runs", "null_reason"}));
    CALKIT_TRY(const auto schema, at.at("schema"));
    CALKIT_TRY(const auto known, schema.as_word({kNoiseSchema}));
    CALKIT_TRY(const auto dtype, at.at("dtype"));
    CALKIT_TRY(const auto same, dtype.as_word({read_.dtype}));
    const auto runs = at.find("runs"), why = at.find("null_reason");
    if (runs.has_value() == why.has_value())
      return at.error(runs ? "runs and a null_reason" : "neither runs nor a null_reason", "one of the two");
    if (!runs) return why->as_string().ok() ? Status() : why->error(why->value().describe(), "a reason");
    CALKIT_TRY(const auto items, runs->items());
    if (items.empty()) return runs->error("no run", "at least one, or null with a null_reason");
    for (const Cursor& run : items) CALKIT_CHECK_OK(read_run(run));
    return {};
  }

  Status read_run(const Cursor& run) const {
    CALKIT_CHECK_OK(run.only({"how", "nmse_max", "max_abs_max", "prompts"}));
    CALKIT_TRY(const auto how, run.string("how"));
    CALKIT_TRY(const double nmse_max, run.number("nmse_max"));
    CALKIT_TRY(const double max_abs_max, run.number("max_abs_max"));
    CALKIT_TRY(const auto list, run.at("prompts"));
    CALKIT_TRY(const auto prompts, list.items());
    double nmse = 0, max_abs = 0;
    for (const Cursor& prompt : prompts) {
      CALKIT_CHECK_OK(prompt.only({"id", "nmse", "max_abs", "max_abs_index", "top_1_equal"}));
      CALKIT_TRY(const auto id, prompt.string("id"));
      const ReferenceItem* item = read_.find(id);
      if (item == nullptr || item->ids.empty()) return prompt.error("prompt " + id, "a prompt that was answered");
      if (const auto given = prompt.find("nmse")) {
        CALKIT_TRY(const double value, given->as_number());
        nmse = std::max(nmse, value);
      }
      CALKIT_TRY(const double largest, prompt.number("max_abs"));
      max_abs = std::max(max_abs, largest);
      CALKIT_CHECK_OK(prompt.integer("max_abs_index", 0, static_cast<std::int64_t>(item->logits.size())));
      CALKIT_TRY(const auto top, prompt.at("top_1_equal"));
      if (top.value().if_bool() == nullptr) return top.error(top.value().describe(), "true or false");
    }
    if (prompts.empty()) return list.error("no prompt", "at least one");
    if (nmse != nmse_max || max_abs != max_abs_max)
      return run.error(fmt::format("nmse_max {:g} and max_abs_max {:g}", nmse_max, max_abs_max),
                       fmt::format("the largest of its prompts, {:g} and {:g}", nmse, max_abs));
    return {};
  }

  const fs::path& dir_;
  const Reference& read_;
  const hf::ModelSpec* spec_;
  std::vector<std::string>& findings_;
};

}  // namespace

std::vector<std::string> probe_names(const hf::ModelSpec& spec) {
  std::vector<std::string> names = {"embed", "layer.0.input_norm", "layer.0.attn_out", "layer.0.mlp_out",
                                    "layer.0.out"};
  if (spec.layers > 1) names.push_back(fmt::format("layer.{}.out", spec.layers - 1));
  names.emplace_back("final_norm");
  return names;
}

void verify_documents(const fs::path& dir, const Reference& reference, const hf::ModelSpec* spec,
                      std::vector<std::string>& findings) {
  DocumentChecker check(dir, reference, spec, findings);
  check.coverage_file();
  check.probes();
  check.noise();
}

}  // namespace calkit::frozen
