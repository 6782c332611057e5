#include "calkit/model/graph.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "calkit/hf/rope.h"
#include "graph_builder.h"
#include "graph_experts.h"
#include "graph_recipe.h"

namespace calkit::model {
namespace {

using onnx::attr;
using onnx::Dim;

constexpr std::int64_t kOpset = 23, kIrVersion = 11;

class Recipe {
 public:
  Recipe(const hf::ModelSpec& spec, Phase phase, DType dtype, const FixedAxes& fixed, onnx::Graph& graph)
      : spec_(spec), phase_(phase), type_(onnx::from_dtype(dtype)), fixed_(fixed), graph_(graph), add_(graph) {}

  void build() {
    constants();
    rotary_tables();
    std::string x = add_.node("Gather", {"model.embed_tokens.weight", "token_ids"}, "embed", {attr("axis", int64(0))});
    for (std::int64_t layer = 0; layer < spec_.layers; ++layer) x = block(layer, x);
    const std::string normed = rms_norm(x, "model.norm.weight", "final_norm");
    const std::string last = last_token(normed);
    add_.linear(last, spec_.tied_embeddings ? "model.embed_tokens.weight" : "lm_head.weight", "", "lm_head", "logits");
    inputs_and_outputs();
  }

 private:
  static std::int64_t int64(std::int64_t v) { return v; }
  static onnx::Attribute perm(std::vector<std::int64_t> axes) { return attr("perm", std::move(axes)); }

  void constants() {
    const std::int64_t d = spec_.head_dim;
    const auto list = [&](const char* name, std::vector<std::int64_t> values) {
      add_.constant(name, Tensor::of({static_cast<std::int64_t>(values.size())}, values));
    };
    add_.constant("rope.inv_freq", Tensor::of({d / 2}, hf::inverse_frequencies(spec_)));
    list("shape.q_heads", {0, 0, spec_.q_heads, d});
    list("shape.kv_heads", {0, 0, spec_.kv_heads, d});
    list("shape.merged", {0, 0, spec_.q_heads * d});
    if (phase_ == Phase::kPrefill) list("axes.last", {-1});
    list("axes.two", {2});
    if (phase_ == Phase::kDecode) list("axes.one", {1});
    if (spec_.experts) add_expert_constants(add_, spec_);
  }

  // cos and sin [B, S, D/2] of all layers; angles are float32 in every graph, as Transformers has them. YaRN scales
  // both.
  void rotary_tables() {
    add_.node("Cast", {"position_ids"}, "rope.position", {attr("to", int64(onnx::from_dtype(DType::kF32)))});
    add_.node("Unsqueeze", {"rope.position", "axes.two"}, "rope.position_column");
    add_.node("Mul", {"rope.position_column", "rope.inv_freq"}, "rope.angle");
    const bool cast = type_ != onnx::from_dtype(DType::kF32);
    const double factor = hf::attention_factor(spec_);
    if (factor != 1) add_.constant("rope.attention_factor", Tensor::of<float>({}, {static_cast<float>(factor)}));
    for (const auto& [op, name] : {std::pair<const char*, std::string>{"Cos", "rope.cos"}, {"Sin", "rope.sin"}}) {
      const std::string wide = cast ? name + "_f32" : name;
      add_.node(op, {"rope.angle"}, factor != 1 ? name + "_plain" : wide);
      if (factor != 1) add_.node("Mul", {name + "_plain", "rope.attention_factor"}, wide);
      if (cast) add_.node("Cast", {wide}, name, {attr("to", int64(type_))});
    }
  }

  // The projection `hf`.weight, with its bias where the family has one.
  std::string linear(const std::string& x, const std::string& hf, bool bias, const std::string& name,
                     const std::string& out) {
    return add_.linear(x, hf + ".weight", bias ? hf + ".bias" : "", name, out);
  }

  std::string rms_norm(const std::string& x, const std::string& weight, const std::string& out) {
    return add_.node(
        "RMSNormalization", {x, weight}, out,
        {attr("axis", int64(-1)), attr("epsilon", static_cast<float>(spec_.rms_eps)), attr("stash_type", int64(1))});
  }

  // One projection as heads [B, heads, S, D], normalised over D where the family does so.
  std::string heads(const std::string& hf, const std::string& ours, const char* which, const std::string& x, bool norm,
                    const std::string& out) {
    const std::string part = ours + which;
    std::string y =
        linear(x, fmt::format("{}self_attn.{}_proj", hf, which), spec_.qkv_bias, part + "_proj", part + "_proj");
    y = add_.node("Reshape", {y, *which == 'q' ? "shape.q_heads" : "shape.kv_heads"}, part + "_heads");
    if (norm) y = rms_norm(y, fmt::format("{}self_attn.{}_norm.weight", hf, which), part + "_norm");
    return add_.node("Transpose", {y}, out, {perm({0, 2, 1, 3})});
  }

  std::string attention(std::int64_t layer, const std::string& hf, const std::string& ours, const std::string& x) {
    const bool decode = phase_ == Phase::kDecode;
    const std::string present_key = fmt::format("present_key.{}", layer);
    const std::string present_value = fmt::format("present_value.{}", layer);
    const std::string q = heads(hf, ours, "q", x, spec_.qk_norm, ours + "q_turned");
    const std::string k = heads(hf, ours, "k", x, spec_.qk_norm, ours + "k_turned");
    // Without a past, K after RoPE and V are the present cache themselves.
    const std::string v = heads(hf, ours, "v", x, false, decode ? ours + "v_turned" : present_value);
    const std::string q_rope = add_.node("RotaryEmbedding", {q, "rope.cos", "rope.sin"}, ours + "q_rope");
    const std::string k_rope =
        add_.node("RotaryEmbedding", {k, "rope.cos", "rope.sin"}, decode ? ours + "k_rope" : present_key);
    std::vector<std::string> in = {q_rope, k_rope, v}, out = {ours + "attention"};
    std::vector<onnx::Attribute> attributes = {
        attr("scale", static_cast<float>(1.0 / std::sqrt(static_cast<double>(spec_.head_dim))))};
    if (decode) {  // the one new token sees every key, so no mask
      in.insert(in.end(), {"", fmt::format("past_key.{}", layer), fmt::format("past_value.{}", layer)});
      out.insert(out.end(), {present_key, present_value});
    } else {
      attributes.push_back(attr("is_causal", int64(1)));
    }
    add_.nodes("Attention", in, out, attributes);
    add_.node("Transpose", {ours + "attention"}, ours + "attention_turned", {perm({0, 2, 1, 3})});
    add_.node("Reshape", {ours + "attention_turned", "shape.merged"}, ours + "attention_merged");
    return linear(ours + "attention_merged", hf + "self_attn.o_proj", spec_.o_bias, ours + "o_proj", ours + "attn_out");
  }

  std::string dense_mlp(const std::string& hf, const std::string& ours, const std::string& x) {
    const bool bias = spec_.mlp_bias;
    const std::string gate = linear(x, hf + "mlp.gate_proj", bias, ours + "gate_proj", ours + "gate");
    const std::string up = linear(x, hf + "mlp.up_proj", bias, ours + "up_proj", ours + "up");
    const std::string gated = add_.gated(gate, up, ours);
    return linear(gated, hf + "mlp.down_proj", bias, ours + "down_proj", ours + "mlp_out");
  }

  std::string block(std::int64_t layer, const std::string& x) {
    const std::string hf = fmt::format("model.layers.{}.", layer), ours = fmt::format("layer.{}.", layer);
    const std::string normed = rms_norm(x, hf + "input_layernorm.weight", ours + "input_norm");
    const std::string middle = add_.node("Add", {x, attention(layer, hf, ours, normed)}, ours + "attn_residual");
    const std::string post = rms_norm(middle, hf + "post_attention_layernorm.weight", ours + "post_norm");
    const bool sparse = spec_.experts && spec_.experts->sparse_layers[static_cast<std::size_t>(layer)];
    const std::string mlp = sparse ? add_experts(add_, spec_, type_, layer, post) : dense_mlp(hf, ours, post);
    return add_.node("Add", {middle, mlp}, ours + "out");
  }

  // [B, S, H] -> [B, H]: the head runs on one token of each row, not on S of them.
  std::string last_token(const std::string& x) {
    if (phase_ == Phase::kDecode) return add_.node("Squeeze", {x, "axes.one"}, "last_hidden");
    add_.node("Unsqueeze", {"last_index", "axes.last"}, "last_index_column");
    return add_.node("GatherND", {x, "last_index_column"}, "last_hidden", {attr("batch_dims", int64(1))});
  }

  void inputs_and_outputs() {
    const bool decode = phase_ == Phase::kDecode;
    const onnx::ElementType ids = onnx::from_dtype(DType::kI64);
    const auto axis = [](const std::optional<std::int64_t>& fixed, const char* symbol) {
      return fixed ? Dim::of(*fixed) : Dim::symbol(symbol);
    };
    const Dim b = axis(fixed_.batch, "B"), s = decode ? Dim::of(1) : axis(fixed_.tokens, "S");
    const Dim past = axis(fixed_.past, "P");
    const Dim present = !decode ? s : fixed_.past ? Dim::of(*fixed_.past + 1) : Dim::symbol("P+1");
    const auto cache = [&](const Dim& tokens) {
      return std::vector<Dim>{b, Dim::of(spec_.kv_heads), tokens, Dim::of(spec_.head_dim)};
    };
    graph_.inputs = {{"token_ids", ids, {{b, s}}}, {"position_ids", ids, {{b, s}}}};
    if (!decode) graph_.inputs.push_back({"last_index", ids, {{b}}});
    graph_.outputs = {{"logits", type_, {{b, Dim::of(spec_.vocab)}}}};
    for (std::int64_t layer = 0; layer < spec_.layers; ++layer) {
      for (const char* part : {"key", "value"}) {
        if (decode) graph_.inputs.push_back({fmt::format("past_{}.{}", part, layer), type_, cache(past)});
        graph_.outputs.push_back({fmt::format("present_{}.{}", part, layer), type_, cache(present)});
      }
    }
  }

  const hf::ModelSpec& spec_;
  Phase phase_;
  onnx::ElementType type_;
  FixedAxes fixed_;
  onnx::Graph& graph_;
  GraphBuilder add_;
};

}  // namespace

onnx::Model build_structure(const hf::ModelSpec& spec, Phase phase, DType dtype, const FixedAxes& fixed) {
  onnx::Model model;
  model.ir_version = kIrVersion;
  model.opsets[""] = kOpset;
  model.producer_name = "calkit";
  model.graph.name = phase == Phase::kPrefill ? "prefill" : "decode";
  Recipe(spec, phase, dtype, fixed, model.graph).build();
  return model;
}

}  // namespace calkit::model
