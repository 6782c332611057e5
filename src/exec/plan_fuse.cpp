// Several nodes that are one step of a model become one operator of our own.
#include <optional>

#include "plan.h"
#include "plan_uses.h"

namespace calkit::exec {
namespace {

// Mul(Mul(gate, Sigmoid(gate)), up), the operands of either Mul in any order.
struct Gated {
  onnx::Node *sigmoid = nullptr, *silu = nullptr;
  std::string gate, up;
};
std::optional<Gated> match_gated(Uses& uses, const onnx::Node& product) {
  if (!is_plain(product, "Mul", 2)) return std::nullopt;
  for (std::size_t side = 0; side < 2; ++side) {
    Gated out;
    out.silu = uses.made_by(product.inputs[side], "Mul");
    if (out.silu == nullptr || uses.reads(product.inputs[side]) != 1) continue;
    for (std::size_t inner = 0; inner < 2; ++inner) {
      out.sigmoid = uses.made_by(out.silu->inputs[inner], "Sigmoid");
      out.gate = out.silu->inputs[1 - inner];
      if (out.sigmoid == nullptr || out.sigmoid->inputs[0] != out.gate || uses.reads(out.sigmoid->outputs[0]) != 1)
        continue;
      out.up = product.inputs[1 - side];
      return out;
    }
  }
  return std::nullopt;
}

// Rows of the weights of a product that may take a bias, or 0.
std::int64_t outputs_of(const Uses& uses, const onnx::Node& product) {
  if (product.inputs.size() != 2) return 0;
  const onnx::Initializer* weight = uses.constant(product.inputs[1]);
  return weight != nullptr && weight->dims.size() == 2 ? weight->dims[0] : 0;
}

void take_bias(Uses& uses, onnx::Node& add) {
  if (!is_plain(add, "Add", 2)) return;
  for (std::size_t side = 0; side < 2; ++side) {
    onnx::Node* product = uses.made_by(add.inputs[side], "MatMulNT", "calkit");
    const std::string bias = add.inputs[1 - side];
    const onnx::Initializer* values = uses.constant(bias);
    if (product == nullptr || uses.reads(add.inputs[side]) != 1 || values == nullptr || values->dims.size() != 1 ||
        values->dims[0] != outputs_of(uses, *product))
      continue;
    add.op_type = "MatMulNT";
    add.domain = "calkit";
    add.inputs = {product->inputs[0], product->inputs[1], bias};
    return uses.drop(*product);
  }
}

}  // namespace

void use_gated_units(onnx::Graph& graph) {
  Uses uses(graph);
  for (auto& node : graph.nodes) {
    const auto gated = match_gated(uses, node);
    if (!gated) continue;
    uses.drop(*gated->sigmoid);
    uses.drop(*gated->silu);
    node.op_type = "SwiGLU";
    node.domain = "calkit";
    node.inputs = {gated->gate, gated->up};
  }
  uses.finish();
}

void use_biases(onnx::Graph& graph) {
  Uses uses(graph);
  for (auto& node : graph.nodes) take_bias(uses, node);
  uses.finish();
}

}  // namespace calkit::exec
