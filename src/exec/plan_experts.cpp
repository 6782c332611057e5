// The experts of a layer, as model/graph_experts.cpp builds them, become one operator that gathers no weights.
#include <fmt/format.h>

#include <array>
#include <optional>

#include "plan.h"
#include "plan_uses.h"

namespace calkit::exec {
namespace {

/// The nodes of one layer, from the sum over its choices back to its rows.
struct ExpertLayer {
  std::vector<onnx::Node*> nodes;  ///< all but the sum
  std::string tokens, experts, weights;
  std::array<std::string, 3> stacks;  ///< gate, up and down, [E, N, K] each
};

class LayerMatcher {
 public:
  explicit LayerMatcher(Uses& uses) : uses_(uses) {}

  /// @param sum ReduceSum over the choices of answers times weights.
  std::optional<ExpertLayer> match(const onnx::Node& sum) {
    if (!is_plain(sum, "ReduceSum", 2) || sum.int_or("keepdims", 1) != 0 || !is_axes(sum.inputs[1], {1}))
      return std::nullopt;
    const onnx::Node* weighted = take(sum.inputs[0], "Mul", 1);
    const onnx::Node* answers = weighted ? take(weighted->inputs[0], "Squeeze", 1) : nullptr;
    const onnx::Node* scale = weighted ? take(weighted->inputs[1], "Unsqueeze", 1) : nullptr;
    if (!answers || !scale || !has_axes(*answers, {3}) || !has_axes(*scale, {2})) return std::nullopt;
    found_.weights = scale->inputs[0];
    const onnx::Node* down = take_grouped(answers->inputs[0], 2);
    const onnx::Node* gated = down ? take(down->inputs[1], "SwiGLU", 1, "calkit") : nullptr;
    const onnx::Node* gate = gated ? take_grouped(gated->inputs[0], 0) : nullptr;
    const onnx::Node* up = gated ? take_grouped(gated->inputs[1], 1) : nullptr;
    if (!gate || !up || gate->inputs[1] != up->inputs[1]) return std::nullopt;
    const onnx::Node* column = take(gate->inputs[1], "Unsqueeze", 2);
    if (!column || !has_axes(*column, {1, 3})) return std::nullopt;
    found_.tokens = column->inputs[0];
    return found_;
  }

 private:
  /// The node that makes a value which only the pattern reads.
  onnx::Node* take(const std::string& value, std::string_view op_type, int reads, std::string_view domain = "") {
    onnx::Node* node = uses_.made_by(value, op_type, domain);
    if (node == nullptr || uses_.reads(value) != reads || node->outputs.size() != 1) return nullptr;
    found_.nodes.push_back(node);
    return node;
  }
  bool is_axes(const std::string& name, const std::vector<std::int64_t>& wanted) const {
    const onnx::Initializer* axes = uses_.constant(name);
    if (axes == nullptr || !axes->data || axes->data->dtype() != DType::kI64) return false;
    const auto values = axes->data->data<std::int64_t>();
    return std::equal(values.begin(), values.end(), wanted.begin(), wanted.end());
  }
  bool has_axes(const onnx::Node& node, const std::vector<std::int64_t>& wanted) const {
    return node.inputs.size() == 2 && is_axes(node.inputs[1], wanted);
  }
  /// MatMul(Gather(stack, experts), x) of one of the three stacks.
  onnx::Node* take_grouped(const std::string& value, std::size_t which) {
    onnx::Node* product = take(value, "MatMul", 1);
    const onnx::Node* taken = product ? take(product->inputs[0], "Gather", 1) : nullptr;
    if (taken == nullptr || taken->int_or("axis", 0) != 0) return nullptr;
    const onnx::Initializer* stack = uses_.constant(taken->inputs[0]);
    if (stack == nullptr || stack->dims.size() != 3 || uses_.reads(taken->inputs[0]) != 1) return nullptr;
    if (found_.experts.empty()) found_.experts = taken->inputs[1];
    if (found_.experts != taken->inputs[1]) return nullptr;
    found_.stacks[which] = taken->inputs[0];
    return product;
  }

  Uses& uses_;
  ExpertLayer found_;
};

/// The matrices of a stack, each a view of its bytes.
std::vector<onnx::Piece> pieces_of(const onnx::Initializer& stack) {
  if (!stack.data) return stack.pieces;
  std::vector<onnx::Piece> out;
  const Shape shape(stack.dims.begin() + 1, stack.dims.end());
  const std::size_t step = stack.dims[0] > 0 ? stack.data->bytes() / static_cast<std::size_t>(stack.dims[0]) : 0;
  const auto owner = std::make_shared<const Tensor>(*stack.data);
  for (std::int64_t i = 0; i < stack.dims[0]; ++i)
    out.push_back({fmt::format("{}[{}]", stack.name, i),
                   Tensor::borrow(owner->dtype(), shape, owner->raw() + static_cast<std::size_t>(i) * step, owner)});
  return out;
}

onnx::Initializer matrix(onnx::Piece piece) {
  onnx::Initializer out;
  out.name = std::move(piece.name);
  out.type = onnx::from_dtype(piece.data.dtype());
  out.dims = piece.data.shape();
  out.bytes = piece.data.bytes();
  out.data = std::move(piece.data);
  return out;
}

/// A stack that nothing took apart is one tensor after all.
Status join(onnx::Initializer& stack) {
  CALKIT_TRY(Tensor whole, Tensor::zeros(stack.pieces.front().data.dtype(), stack.dims), stack.name);
  std::byte* to = whole.mutable_raw();
  for (const onnx::Piece& piece : stack.pieces) {
    std::copy_n(piece.data.raw(), piece.data.bytes(), to);
    to += piece.data.bytes();
  }
  stack.data = std::move(whole);
  stack.pieces.clear();
  return {};
}

}  // namespace

Status use_experts(onnx::Graph& graph) {
  std::map<std::string, std::vector<std::string>> taken;  // stack -> names of its matrices
  std::vector<onnx::Initializer> matrices;
  {
    Uses uses(graph);
    for (auto& node : graph.nodes) {
      const auto layer = LayerMatcher(uses).match(node);
      if (!layer) continue;
      for (const std::string& stack : layer->stacks) {
        const auto [at, fresh] = taken.try_emplace(stack);
        if (!fresh) continue;
        for (onnx::Piece& piece : pieces_of(*uses.constant(stack))) {
          at->second.push_back(piece.name);
          matrices.push_back(matrix(std::move(piece)));
        }
      }
      std::vector<std::string> inputs = {layer->tokens, layer->experts, layer->weights};
      for (std::size_t i = 0; i < taken[layer->stacks[0]].size(); ++i)
        for (const std::string& stack : layer->stacks) {
          const auto& names = taken[stack];
          inputs.push_back(i < names.size() ? names[i] : std::string());
        }
      for (const onnx::Node* gone : layer->nodes) uses.drop(*gone);
      node = onnx::Node{node.name, "Experts", "calkit", std::move(inputs), node.outputs, {}};
    }
    uses.finish();
  }
  std::erase_if(graph.initializers, [&](const auto& tensor) { return taken.contains(tensor.name); });
  for (onnx::Initializer& tensor : graph.initializers)
    if (!tensor.pieces.empty()) CALKIT_CHECK_OK(join(tensor));
  for (onnx::Initializer& tensor : matrices) graph.initializers.push_back(std::move(tensor));
  return {};
}

}  // namespace calkit::exec
