#include "spec_experts.h"

#include <fmt/format.h>

#include "spec_family.h"

namespace calkit::hf {
namespace {

constexpr std::int64_t kMaxExperts = 1024, kMaxExpertsInAll = 1 << 16, kMaxFfn = 1 << 19;

/// `num_experts` (Transformers 4) or `num_local_experts` (5).
Result<Cursor> count_at(const Cursor& config) {
  const auto plain = config.find("num_experts"), local = config.find("num_local_experts");
  if (plain && local && !(plain->value() == local->value()))
    return local->error(local->value().describe(), fmt::format("{}, as num_experts says", plain->value().describe()),
                        "the two dialects disagree: keep one");
  if (plain) return *plain;
  if (local) return *local;
  return config.at("num_experts");
}

Status read_sparse_layers(const Cursor& config, ModelSpec& spec, Experts& out) {
  std::int64_t step = 1;
  if (const auto at = config.find("decoder_sparse_step")) {
    CALKIT_TRY(step, at->as_int(1, 1 << 16));
  } else {
    note_default(config, "decoder_sparse_step", "1", spec);
  }
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) out.sparse_layers.push_back((layer + 1) % step == 0);
  if (const auto at = config.find("mlp_only_layers")) {
    CALKIT_TRY(const auto items, at->items());
    for (const Cursor& item : items) {
      CALKIT_TRY(const std::int64_t layer, item.as_int(0, spec.layers - 1));
      out.sparse_layers[static_cast<std::size_t>(layer)] = false;
    }
  }
  return {};
}

}  // namespace

Status read_experts(const Cursor& config, ModelSpec& spec) {
  Experts out;
  CALKIT_TRY(const Cursor at, count_at(config));
  CALKIT_TRY(out.count, at.as_int(1, kMaxExperts));
  if (out.count * spec.layers > kMaxExpertsInAll)
    return at.error(fmt::format("{} in {} layers", out.count, spec.layers),
                    fmt::format("at most {} experts in all layers", kMaxExpertsInAll));
  CALKIT_TRY(out.per_token, config.integer("num_experts_per_tok", 1, out.count));
  CALKIT_TRY(out.ffn, config.integer("moe_intermediate_size", 1, kMaxFfn));
  if (const auto norm = config.find("norm_topk_prob")) {
    CALKIT_TRY(out.norm_topk, norm->as_bool());
  } else {
    note_default(config, "norm_topk_prob", "false", spec);
  }
  CALKIT_CHECK_OK(read_sparse_layers(config, spec, out));
  spec.experts = std::move(out);
  return {};
}

}  // namespace calkit::hf
