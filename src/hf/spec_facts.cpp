#include <fmt/format.h>

#include "calkit/hf/rope.h"
#include "calkit/hf/spec.h"

namespace calkit::hf {
namespace {

Value scaling_value(const RopeScaling& rope) {
  if (rope.type == "default") return nullptr;
  Value out = Value::object({{"type", rope.type}, {"factor", rope.factor}});
  if (rope.type == "llama3" || rope.type == "yarn") out.set("original_max_positions", rope.original_max_positions);
  if (rope.type == "llama3") {
    out.set("low_freq_factor", rope.low_freq_factor);
    out.set("high_freq_factor", rope.high_freq_factor);
  }
  if (rope.type != "yarn") return out;
  out.set("beta_fast", rope.beta_fast);
  out.set("beta_slow", rope.beta_slow);
  out.set("truncate", rope.truncate);
  out.set("mscale", rope.mscale);
  out.set("mscale_all_dim", rope.mscale_all_dim);
  return out;
}

Value experts_value(const ModelSpec& spec) {
  if (!spec.experts) return nullptr;
  Value layers = Value::array();
  for (std::size_t layer = 0; layer < spec.experts->sparse_layers.size(); ++layer)
    if (spec.experts->sparse_layers[layer]) layers.push(static_cast<std::uint64_t>(layer));
  return Value::object({{"count", spec.experts->count},
                        {"per_token", spec.experts->per_token},
                        {"ffn", spec.experts->ffn},
                        {"norm_topk", spec.experts->norm_topk},
                        {"sparse_layers", std::move(layers)}});
}

bool is_sparse(const ModelSpec& spec, std::int64_t layer) {
  return spec.experts && spec.experts->sparse_layers[static_cast<std::size_t>(layer)];
}

struct Lister {
  const ModelSpec& spec;
  const std::function<bool(const ExpectedTensor&)>& sink;
  bool going = true;

  void add(std::string name, std::vector<std::int64_t> shape) {
    going = going && sink({std::move(name), std::move(shape)});
  }

  void projection(const std::string& name, std::int64_t rows, std::int64_t columns, bool bias) {
    add(name + ".weight", {rows, columns});
    if (bias) add(name + ".bias", {rows});
  }

  void mlp(const std::string& at, std::int64_t width) {
    projection(at + "gate_proj", width, spec.hidden, spec.mlp_bias);
    projection(at + "up_proj", width, spec.hidden, spec.mlp_bias);
    projection(at + "down_proj", spec.hidden, width, spec.mlp_bias);
  }

  void attention(const std::string& at) {
    const std::int64_t q_rows = spec.q_heads * spec.head_dim, kv_rows = spec.kv_heads * spec.head_dim;
    projection(at + "q_proj", q_rows, spec.hidden, spec.qkv_bias);
    projection(at + "k_proj", kv_rows, spec.hidden, spec.qkv_bias);
    projection(at + "v_proj", kv_rows, spec.hidden, spec.qkv_bias);
    if (spec.qk_norm) {
      add(at + "q_norm.weight", {spec.head_dim});
      add(at + "k_norm.weight", {spec.head_dim});
    }
    projection(at + "o_proj", spec.hidden, q_rows, spec.o_bias);
  }

  void layer(std::int64_t number) {
    const std::string at = fmt::format("model.layers.{}.", number);
    add(at + "input_layernorm.weight", {spec.hidden});
    attention(at + "self_attn.");
    add(at + "post_attention_layernorm.weight", {spec.hidden});
    if (!is_sparse(spec, number)) return mlp(at + "mlp.", spec.ffn);
    add(at + "mlp.gate.weight", {spec.experts->count, spec.hidden});
    for (std::int64_t expert = 0; expert < spec.experts->count && going; ++expert)
      mlp(fmt::format("{}mlp.experts.{}.", at, expert), spec.experts->ffn);
  }
};

}  // namespace

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
                        {"rope_scaling", scaling_value(spec.rope)},
                        {"attention_factor", attention_factor(spec)},
                        {"activation", spec.activation},
                        {"tied_embeddings", spec.tied_embeddings},
                        {"qkv_bias", spec.qkv_bias},
                        {"o_bias", spec.o_bias},
                        {"mlp_bias", spec.mlp_bias},
                        {"experts", experts_value(spec)},
                        {"qk_norm", spec.qk_norm},
                        {"weight_dtype", dtype_name(spec.weight_dtype)},
                        {"bos_id", spec.bos_id},
                        {"pad_id", spec.pad_id},
                        {"eos_ids", Value::list(spec.eos_ids)}});
}

std::uint64_t kv_bytes_per_token(const ModelSpec& spec, DType kv_dtype) {
  return static_cast<std::uint64_t>(spec.layers * spec.kv_heads * 2 * spec.head_dim) * dtype_bytes(kv_dtype);
}

void each_expected_tensor(const ModelSpec& spec, const std::function<bool(const ExpectedTensor&)>& sink) {
  Lister list{spec, sink};
  list.add("model.embed_tokens.weight", {spec.vocab, spec.hidden});
  for (std::int64_t layer = 0; layer < spec.layers && list.going; ++layer) list.layer(layer);
  list.add("model.norm.weight", {spec.hidden});
  if (!spec.tied_embeddings) list.add("lm_head.weight", {spec.vocab, spec.hidden});
}

std::vector<ExpectedTensor> expected_tensors(const ModelSpec& spec) {
  std::vector<ExpectedTensor> out;
  each_expected_tensor(spec, [&](const ExpectedTensor& tensor) {
    out.push_back(tensor);
    return true;
  });
  return out;
}

}  // namespace calkit::hf
