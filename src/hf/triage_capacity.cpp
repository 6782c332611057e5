#include <fmt/format.h>

#include "calkit/base/checked.h"
#include "calkit/base/text.h"
#include "spec_family.h"
#include "triage_rules.h"

namespace calkit::hf {
namespace {

constexpr std::int64_t kMaxVocab = 151936;  // the product's logits reservation today
constexpr std::int64_t kFirstContext = 8192;
constexpr const char* kNotStated = "not stated";

TriageRule vocabulary(const Facts& facts) {
  TriageRule out{"vocab",
                 "vocabulary within the product's",
                 kNotStated,
                 fmt::format("at most {}", kMaxVocab),
                 "config.json /vocab_size",
                 Verdict::kFail,
                 "C4"};
  const auto vocab = facts.size("vocab_size");
  if (!vocab) return out;
  out.found = fmt::format("{}", vocab->value);
  if (vocab->value > kMaxVocab) return out;
  out.verdict = Verdict::kPass;
  out.status = "C2";
  return out;
}

TriageRule context(const Facts& facts, const manifest::ProductTargets& targets) {
  TriageRule out{"context",
                 "the context target within the trained one",
                 kNotStated,
                 fmt::format("at least the target {}", targets.context),
                 fmt::format("config.json /max_position_embeddings; target: {}", targets.source),
                 Verdict::kFail,
                 "C4"};
  auto trained = facts.size("max_position_embeddings");
  const Value* type = facts.find("model_type");
  const Family* family = type != nullptr && type->if_string() != nullptr ? find_family(*type->if_string()) : nullptr;
  const bool by_default = family != nullptr && facts.find("max_position_embeddings") == nullptr;
  if (by_default) trained = Fact{family->max_positions, {}};
  if (!trained) return out;
  out.found = fmt::format("{} trained positions{}", trained->value, by_default ? " by default" : "");
  if (trained->value < targets.context) return out;
  out.status = "C2";
  out.verdict = Verdict::kPass;
  if (targets.context > kFirstContext) {
    out.verdict = Verdict::kNote;
    out.allowed += "; 4096 or 8192 is preferred for a first adaptation";
  }
  return out;
}

std::optional<std::uint64_t> kv_bytes_at(const Facts& facts, const manifest::ProductTargets& targets) {
  const auto layers = facts.size("num_hidden_layers");
  const auto heads = facts.kv_heads(), width = facts.head_dim();
  if (!layers || !heads || !width) return std::nullopt;
  const std::int64_t extents[] = {layers->value, heads->value, width->value, targets.context, targets.batch};
  return checked_product(extents, 2 * (targets.kv_dtype == "f32" ? 4 : 2));
}

TriageRule fits(const Facts& facts, const manifest::ProductTargets& targets, const manifest::DeviceProfile& device,
                TriageReport& report) {
  TriageRule out{"chiplet-fit",
                 "weights and KV cache on one chiplet",
                 kNotStated,
                 fmt::format("at most {} ({} less a guard of {}, profile {}{})", format_bytes(device.usable_bytes()),
                             format_bytes(device.dram_bytes), format_bytes(device.guard_bytes), device.name,
                             device.assumed ? ", assumed" : ""),
                 fmt::format("tensor headers, config.json; context {}, batch {}, KV {}: {}", targets.context,
                             targets.batch, targets.kv_dtype, targets.source),
                 Verdict::kFail,
                 "C4"};
  report.kv_bytes = kv_bytes_at(facts, targets);
  if (!report.kv_bytes) {
    out.found = fmt::format("weights {}; KV cache {} or beyond 64 bits", format_bytes(facts.weight_bytes), kNotStated);
    return out;
  }
  const auto total = checked_add(facts.weight_bytes, *report.kv_bytes);
  out.found = fmt::format("weights {} + KV {}", format_bytes(facts.weight_bytes), format_bytes(*report.kv_bytes));
  if (!total || *total > device.usable_bytes()) return out;
  out.verdict = Verdict::kPass;
  out.status = "C3";  // the final memory plan is the vendor's compiler's
  return out;
}

std::string count_text(std::uint64_t count) {
  const auto value = static_cast<double>(count);
  if (count >= 1'000'000'000) return fmt::format("{:.2f} B parameters", value / 1e9);
  if (count >= 1'000'000) return fmt::format("{:.2f} M parameters", value / 1e6);
  return fmt::format("{} parameters", count);
}

TriageRule preferred_size(const Facts& facts) {
  const bool inside = facts.parameters >= 1'000'000'000 && facts.parameters <= 7'999'999'999;
  return {"size",
          "a size that makes a good first model",
          count_text(facts.parameters),
          "1B to 7B preferred",
          "tensor headers",
          inside ? Verdict::kPass : Verdict::kNote,
          "C2"};
}

TriageRule licence(const Facts& facts) {
  const bool stated = !facts.licence.empty();
  return {"licence",
          "weights under a stated licence",
          stated ? facts.licence : kNotStated,
          "a licence that allows the product",
          facts.licence_source,
          stated ? Verdict::kPass : Verdict::kNote,
          "C2"};
}

TriageRule next_steps(const Facts& facts) {
  const Value* type = facts.find("model_type");
  const std::string* name = type != nullptr ? type->if_string() : nullptr;
  const bool runs = name != nullptr && find_family(*name) != nullptr;
  return {"next-steps",
          "a family that the steps after triage run",
          name != nullptr ? printable(*name) : kNotStated,
          family_types(),
          "config.json /model_type",
          runs ? Verdict::kPass : Verdict::kNote,
          "C2"};
}

}  // namespace

std::vector<TriageRule> capacity_rules(const Facts& facts, const manifest::ProductTargets& targets,
                                       const manifest::DeviceProfile& device, TriageReport& report) {
  return {vocabulary(facts),     context(facts, targets), fits(facts, targets, device, report),
          preferred_size(facts), licence(facts),          next_steps(facts)};
}

}  // namespace calkit::hf
