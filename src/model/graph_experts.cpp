#include "graph_experts.h"

#include <fmt/format.h>

namespace calkit::model {
namespace {

using onnx::attr;

constexpr onnx::ElementType kFloat = 1;

/// Which experts each row of `tokens` takes, and their weights: the names that follow `prefix`, "layer.I.router_".
void add_router(GraphBuilder& add, const hf::ModelSpec& spec, onnx::ElementType type, const std::string& weight,
                const std::string& tokens, const std::string& ours) {
  const std::string router = ours + "router_", weights = router + "weights";
  const bool cast = type != kFloat, scaled = spec.experts->norm_topk;
  std::string scores = add.linear(tokens, weight, "", ours + "router", router + "logits");
  if (cast) scores = add.node("Cast", {scores}, router + "logits_f32", {attr("to", std::int64_t{kFloat})});
  add.node("Softmax", {scores}, router + "probabilities", {attr("axis", std::int64_t{-1})});
  const std::string wide = cast ? weights + "_f32" : weights;
  const std::string chosen = scaled ? router + "chosen" : wide;
  add.nodes("TopK", {router + "probabilities", "expert.per_token"}, {chosen, router + "experts"},
            {attr("axis", std::int64_t{-1})});
  if (scaled) {
    add.node("ReduceSum", {chosen, "expert.last_axis"}, router + "total");
    add.node("Div", {chosen, router + "total"}, wide);
  }
  if (cast) add.node("Cast", {wide}, weights, {attr("to", std::int64_t{type})});
}

/// Each row by the matrices of the experts that it takes: weights [E, N, K], x [T, 1 or k, K, 1] -> [T, k, N, 1].
std::string grouped(GraphBuilder& add, const std::string& weight, const std::string& experts, const std::string& x,
                    const std::string& output) {
  const std::string taken = add.node("Gather", {weight, experts}, output + "_weights", {attr("axis", std::int64_t{0})});
  return add.node("MatMul", {taken, x}, output);
}

}  // namespace

void add_expert_constants(GraphBuilder& add, const hf::ModelSpec& spec) {
  const auto numbers = [](std::vector<std::int64_t> values) {
    return Tensor::of({static_cast<std::int64_t>(values.size())}, values);
  };
  add.constant("expert.tokens_shape", numbers({-1, spec.hidden}));
  add.constant("expert.per_token", numbers({spec.experts->per_token}));
  if (spec.experts->norm_topk) add.constant("expert.last_axis", numbers({-1}));
  add.constant("expert.column_axes", numbers({1, 3}));
  add.constant("expert.column", numbers({3}));
  add.constant("expert.weight_column", numbers({2}));
  add.constant("expert.choices", numbers({1}));
}

std::string add_experts(GraphBuilder& add, const hf::ModelSpec& spec, onnx::ElementType type, std::int64_t layer,
                        const std::string& x) {
  const std::string ours = fmt::format("layer.{}.", layer), router = ours + "router_";
  const std::string stored = fmt::format("model.layers.{}.mlp.", layer), stack = stored + "experts.";
  const std::string tokens = add.node("Reshape", {x, "expert.tokens_shape"}, ours + "tokens");
  add_router(add, spec, type, stored + "gate.weight", tokens, ours);

  const std::string column = add.node("Unsqueeze", {tokens, "expert.column_axes"}, ours + "dispatched");
  const std::string experts = router + "experts";
  const std::string gate = grouped(add, stack + "gate_proj.weight", experts, column, ours + "experts_gate");
  const std::string up = grouped(add, stack + "up_proj.weight", experts, column, ours + "experts_up");
  const std::string gated = add.gated(gate, up, ours + "experts_");
  const std::string down = grouped(add, stack + "down_proj.weight", experts, gated, ours + "experts_down");

  add.node("Squeeze", {down, "expert.column"}, ours + "answers");
  add.node("Unsqueeze", {router + "weights", "expert.weight_column"}, ours + "weight_column");
  add.node("Mul", {ours + "answers", ours + "weight_column"}, ours + "weighted");
  add.node("ReduceSum", {ours + "weighted", "expert.choices"}, ours + "combined", {attr("keepdims", std::int64_t{0})});
  add.node("Shape", {x}, ours + "mlp_extent");
  return add.node("Reshape", {ours + "combined", ours + "mlp_extent"}, ours + "mlp_out");
}

}  // namespace calkit::model
