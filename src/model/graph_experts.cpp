#include "graph_experts.h"

#include <fmt/format.h>

namespace calkit::model {
namespace {

using onnx::attr;

constexpr onnx::ElementType kFloat = 1;

// The rows of `tokens` that chose expert `number` go through its MLP and are added to `sum`.
std::string add_expert(GraphBuilder& add, std::int64_t layer, std::int64_t number, const std::string& tokens,
                       const std::string& sum) {
  const std::string hf = fmt::format("model.layers.{}.mlp.experts.{}.", layer, number);
  const std::string router = fmt::format("layer.{}.", layer);
  const std::string ours = fmt::format("layer.{}.expert.{}.", layer, number);
  add.node("Equal", {router + "router_experts", fmt::format("expert.{}", number)}, ours + "chosen");
  add.node("NonZero", {ours + "chosen"}, ours + "where");
  add.node("Gather", {ours + "where", "expert.axis"}, ours + "rows", {attr("axis", std::int64_t{0})});
  add.node("Gather", {tokens, ours + "rows"}, ours + "in", {attr("axis", std::int64_t{0})});
  const std::string gate = add.linear(ours + "in", hf + "gate_proj.weight", "", ours + "gate_proj", ours + "gate");
  const std::string up = add.linear(ours + "in", hf + "up_proj.weight", "", ours + "up_proj", ours + "up");
  const std::string gated = add.gated(gate, up, ours);
  add.linear(gated, hf + "down_proj.weight", "", ours + "down_proj", ours + "down");
  add.node("Transpose", {ours + "where"}, ours + "pairs", {attr("perm", std::vector<std::int64_t>{1, 0})});
  add.node("GatherND", {router + "router_weights", ours + "pairs"}, ours + "weight");
  add.node("Unsqueeze", {ours + "weight", "expert.column"}, ours + "weight_column");
  add.node("Mul", {ours + "down", ours + "weight_column"}, ours + "weighted");
  add.node("Unsqueeze", {ours + "rows", "expert.column"}, ours + "rows_column");
  return add.node("ScatterND", {sum, ours + "rows_column", ours + "weighted"}, ours + "sum",
                  {attr("reduction", std::string("add"))});
}

}  // namespace

void add_expert_constants(GraphBuilder& add, const hf::ModelSpec& spec, onnx::ElementType type) {
  const auto numbers = [](std::vector<std::int64_t> values) {
    return Tensor::of({static_cast<std::int64_t>(values.size())}, values);
  };
  for (std::int64_t number = 0; number < spec.experts->count; ++number)
    add.constant(fmt::format("expert.{}", number), Tensor::of<std::int64_t>({}, {number}));
  add.constant("expert.axis", Tensor::of<std::int64_t>({}, {0}));
  add.constant("expert.column", numbers({1}));
  add.constant("expert.per_token", numbers({spec.experts->per_token}));
  add.constant("expert.tokens_shape", numbers({-1, spec.hidden}));
  add.constant("expert.zero",
               type == kFloat ? Tensor::of<float>({}, {0.0f}) : Tensor::of<BF16>({}, std::vector<BF16>(1)));
  if (spec.experts->norm_topk) add.constant("expert.last_axis", numbers({-1}));
}

std::string add_experts(GraphBuilder& add, const hf::ModelSpec& spec, onnx::ElementType type, std::int64_t layer,
                        const std::string& x) {
  const std::string ours = fmt::format("layer.{}.", layer), router = ours + "router_";
  const bool cast = type != kFloat;
  const std::string tokens = add.node("Reshape", {x, "expert.tokens_shape"}, ours + "tokens");
  std::string scores =
      add.linear(tokens, fmt::format("model.layers.{}.mlp.gate.weight", layer), "", ours + "router", router + "logits");
  if (cast) scores = add.node("Cast", {scores}, router + "logits_f32", {attr("to", std::int64_t{kFloat})});
  add.node("Softmax", {scores}, router + "probabilities", {attr("axis", std::int64_t{-1})});
  const std::string weights = router + "weights";
  const std::string wide = cast ? weights + "_f32" : weights;
  const bool scaled = spec.experts->norm_topk;
  const std::string chosen = scaled ? router + "chosen" : wide;
  add.nodes("TopK", {router + "probabilities", "expert.per_token"}, {chosen, router + "experts"},
            {attr("axis", std::int64_t{-1})});
  if (scaled) {
    add.node("ReduceSum", {chosen, "expert.last_axis"}, router + "total");
    add.node("Div", {chosen, router + "total"}, wide);
  }
  if (cast) add.node("Cast", {wide}, weights, {attr("to", std::int64_t{type})});

  add.node("Shape", {tokens}, ours + "tokens_extent");
  std::string sum = add.node("Expand", {"expert.zero", ours + "tokens_extent"}, ours + "experts_zero");
  for (std::int64_t number = 0; number < spec.experts->count; ++number)
    sum = add_expert(add, layer, number, tokens, sum);
  add.node("Shape", {x}, ours + "mlp_extent");
  return add.node("Reshape", {sum, ours + "mlp_extent"}, ours + "mlp_out");
}

}  // namespace calkit::model
