/// Who the package is for: name and versions, model, limits, device, partition.
#include <fmt/format.h>

#include "sections.h"

namespace calkit::calbin {

namespace {

constexpr std::int64_t kMax = static_cast<std::int64_t>(kMaxPlainInteger);
constexpr std::int64_t kMaxChip = 63;

/// A mixture of experts has both numbers, a dense model neither.
void both_or_none(Reader& in, const Node& at, std::string_view one, std::string_view other) {
  for (const auto& [key, beside] : {std::pair{one, other}, {other, one}}) {
    const Node node = Reader::member(at, key);
    if (!node.present() && Reader::member(at, beside).present())
      in.problem(ProblemKind::kMissing, node, "nothing", fmt::format("a value, as model.{} has one", beside),
                 "give both for a mixture of experts, and neither for a dense model");
  }
}

}  // namespace

Compat read_compat(Reader& in, const Node& parent) {
  Compat out;
  const auto at = in.object(parent, "compat");
  if (!at) return out;
  in.only(*at, {"runtime_abi", "driver", "firmware", "device"});
  out.runtime_abi = in.text(*at, "runtime_abi");
  out.driver = in.text(*at, "driver");
  out.firmware = in.text(*at, "firmware");
  out.device = in.text(*at, "device");
  return out;
}

ModelFacts read_model(Reader& in, const Node& root) {
  ModelFacts out;
  const auto at = in.object(root, "model");
  if (!at) return out;
  in.only(*at, {"family", "hf_repo", "hf_revision", "config_digest", "tokenizer_digest", "chat_template_digest",
                "layers", "hidden", "q_heads", "kv_heads", "head_dim", "ffn", "vocab", "experts", "experts_per_token",
                "rope_theta", "trained_context"});
  out.family = in.text(*at, "family");
  out.hf_repo = in.maybe_text(*at, "hf_repo");
  out.hf_revision = in.maybe_text(*at, "hf_revision");
  out.config_digest = in.digest(*at, "config_digest");
  out.tokenizer_digest = in.digest(*at, "tokenizer_digest");
  out.chat_template_digest = in.digest(*at, "chat_template_digest", Need::kOptional);
  out.layers = in.integer(*at, "layers", 1, kMax);
  out.hidden = in.integer(*at, "hidden", 1, kMax);
  out.q_heads = in.integer(*at, "q_heads", 1, kMax);
  out.kv_heads = in.integer(*at, "kv_heads", 1, kMax);
  out.head_dim = in.integer(*at, "head_dim", 1, kMax);
  out.ffn = in.integer(*at, "ffn", 1, kMax);
  out.vocab = in.integer(*at, "vocab", 1, kMax);
  out.experts = in.maybe_integer(*at, "experts", 1, kMax);
  out.experts_per_token = in.maybe_integer(*at, "experts_per_token", 1, out.experts.value_or(kMax));
  both_or_none(in, *at, "experts", "experts_per_token");
  out.rope_theta = in.number(*at, "rope_theta");
  if (out.rope_theta < 0) {
    const Node theta = Reader::member(*at, "rope_theta");
    in.problem(ProblemKind::kOutOfRange, theta, theta.value->describe(), "a number from 0; 0: the model has no RoPE");
  }
  out.trained_context = in.integer(*at, "trained_context", 1, kMax);
  return out;
}

Limits read_limits(Reader& in, const Node& root) {
  Limits out;
  const auto at = in.object(root, "limits");
  if (!at) return out;
  in.only(*at, {"context", "max_batch", "max_prefill_tokens", "slots"});
  out.context = in.integer(*at, "context", 1, kMax);
  out.max_batch = in.integer(*at, "max_batch", 1, kMax);
  out.max_prefill_tokens = in.integer(*at, "max_prefill_tokens", 1, kMax);
  out.slots = in.integer(*at, "slots", 1, kMax);
  return out;
}

DeviceFacts read_device(Reader& in, const Node& root) {
  DeviceFacts out;
  const auto at = in.object(root, "device");
  if (!at) return out;
  in.only(*at, {"profile", "chips", "chip_mask", "calcores_per_chip", "chip"});
  out.profile = in.text(*at, "profile");
  out.chips = in.integer(*at, "chips", 1, kMaxChip + 1);
  out.chip_mask = in.hex(*at, "chip_mask");
  out.calcores_per_chip = in.maybe_integer(*at, "calcores_per_chip", 1, kMax);
  in.objects(*at, "chip", [&](const Node& item) {
    in.only(item, {"id", "dram_usable", "sram", "link_bw"});
    Chip chip;
    chip.id = in.integer(item, "id", 0, kMaxChip);
    chip.dram_usable = in.size(item, "dram_usable");
    if (Reader::member(item, "sram").present()) chip.sram = in.size(item, "sram");
    if (Reader::member(item, "link_bw").present()) chip.link_bw = in.size(item, "link_bw");
    out.chip.push_back(chip);
  });
  return out;
}

Partition read_partition(Reader& in, const Node& root) {
  Partition out;
  const auto at = in.object(root, "partition");
  if (!at) return out;
  in.only(*at, {"kind", "degree", "axes"});
  out.kind = in.word(*at, "kind", {"single", "tp", "ep", "pp", "mixed"});
  out.degree = in.integer(*at, "degree", 1, kMaxChip + 1);
  out.axes = in.texts(*at, "axes");
  return out;
}

}  // namespace calkit::calbin
