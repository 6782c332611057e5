#include <fmt/format.h>

#include "calkit/hf/spec.h"

namespace calkit::hf {

Value to_value(const ModelSpec& spec) {
  return Value::object({{"model_type", spec.model_type},
                        {"architectures", Value::list(spec.architectures)},
                        {"layers", spec.layers},
                        {"hidden", spec.hidden},
                        {"q_heads", spec.q_heads},
                        {"kv_heads", spec.kv_heads},
                        {"head_dim", spec.head_dim},
                        {"ffn", spec.ffn},
                        {"vocab", spec.vocab},
                        {"max_positions", spec.max_positions},
                        {"rms_eps", spec.rms_eps},
                        {"rope_theta", spec.rope_theta},
                        {"rope_type", spec.rope.type},
                        {"activation", spec.activation},
                        {"tied_embeddings", spec.tied_embeddings},
                        {"attention_bias", spec.qkv_bias},
                        {"qk_norm", spec.qk_norm},
                        {"weight_dtype", dtype_name(spec.weight_dtype)},
                        {"bos_id", spec.bos_id},
                        {"pad_id", spec.pad_id},
                        {"eos_ids", Value::list(spec.eos_ids)}});
}

std::uint64_t kv_bytes_per_token(const ModelSpec& spec, DType kv_dtype) {
  return static_cast<std::uint64_t>(spec.layers * spec.kv_heads * 2 * spec.head_dim) * dtype_bytes(kv_dtype);
}

std::vector<ExpectedTensor> expected_tensors(const ModelSpec& spec) {
  const std::int64_t q_rows = spec.q_heads * spec.head_dim, kv_rows = spec.kv_heads * spec.head_dim;
  std::vector<ExpectedTensor> out;
  out.push_back({"model.embed_tokens.weight", {spec.vocab, spec.hidden}});
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    const std::string at = fmt::format("model.layers.{}.", layer);
    out.push_back({at + "input_layernorm.weight", {spec.hidden}});
    out.push_back({at + "self_attn.q_proj.weight", {q_rows, spec.hidden}});
    out.push_back({at + "self_attn.k_proj.weight", {kv_rows, spec.hidden}});
    out.push_back({at + "self_attn.v_proj.weight", {kv_rows, spec.hidden}});
    if (spec.qk_norm) {
      out.push_back({at + "self_attn.q_norm.weight", {spec.head_dim}});
      out.push_back({at + "self_attn.k_norm.weight", {spec.head_dim}});
    }
    out.push_back({at + "self_attn.o_proj.weight", {spec.hidden, q_rows}});
    out.push_back({at + "post_attention_layernorm.weight", {spec.hidden}});
    out.push_back({at + "mlp.gate_proj.weight", {spec.ffn, spec.hidden}});
    out.push_back({at + "mlp.up_proj.weight", {spec.ffn, spec.hidden}});
    out.push_back({at + "mlp.down_proj.weight", {spec.hidden, spec.ffn}});
  }
  out.push_back({"model.norm.weight", {spec.hidden}});
  if (!spec.tied_embeddings) out.push_back({"lm_head.weight", {spec.vocab, spec.hidden}});
  return out;
}

}  // namespace calkit::hf
