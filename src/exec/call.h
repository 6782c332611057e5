#pragma once
/// One call of a stateless operator: the node, its operands, and errors that name both. The registry of all operators.
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/exec/kernel.h"

namespace calkit::exec {

struct Call {
  const onnx::Node& node;
  std::span<const Tensor* const> inputs;
  const OutputAllocator& out;

  /// The operand, or nullptr where the node leaves it out.
  const Tensor* optional(std::size_t index) const { return index < inputs.size() ? inputs[index] : nullptr; }
  /// An operand that must be there.
  Result<const Tensor*> input(std::size_t index) const;
  /// All values of an integer operand (int64 or int32).
  Result<std::vector<std::int64_t>> ints(std::size_t index) const;
  /// "NODE: input I ('NAME'): found ...; allowed ..." of kind kInput.
  Error fault(std::size_t index, std::string found, std::string allowed) const;
  Error fault(std::string found, std::string allowed) const;  ///< about an attribute or the node as a whole
};

/// "MatMul 'layer.0.q_proj'", for messages.
std::string node_label(const onnx::Node& node);
/// "f32 [1, 17]", for messages.
std::string tensor_text(const Tensor& tensor);
/// @param axis may count from the end. kInput if it is outside [-rank, rank).
Result<std::size_t> normal_axis(const Call& call, std::int64_t axis, std::size_t rank);
/// Elements from `begin` to `end` of a shape, multiplied. The shape belongs to a tensor, so nothing can overflow.
std::size_t extent(const Shape& shape, std::size_t begin, std::size_t end);
/// Row-major strides in elements.
std::vector<std::size_t> strides_of(const Shape& shape);

/// An operator without state between calls.
using RunFunction = Status (*)(const Call& call);
/// An operator whose output is its first operand under another shape: the session shares the bytes instead of copying.
class ViewKernel : public Kernel {
 public:
  virtual Result<Shape> view_shape(std::span<const Tensor* const> inputs) = 0;
};
using ShapeFunction = Result<Shape> (*)(const Call& call);
/// An operator that prepares something once (packed weights).
using Factory = Result<std::unique_ptr<Kernel>> (*)(const onnx::Node& node, std::span<const Tensor* const> constants,
                                                    const KernelOptions& options);

struct Operator {
  std::size_t min_inputs = 0, max_inputs = 0;
  std::vector<std::string_view> attributes = {};  ///< that it understands; any other is refused, never ignored
  RunFunction run = nullptr;                      ///< exactly one of the three is set
  ShapeFunction view = nullptr;
  Factory factory = nullptr;
};
using Registry = std::map<std::string, Operator, std::less<>>;  ///< by "domain:type"; ai.onnx is ":type"

void register_attention(Registry& registry);
void register_cast(Registry& registry);
void register_compare(Registry& registry);
void register_elementwise(Registry& registry);
void register_experts(Registry& registry);
void register_gather(Registry& registry);
void register_matmul(Registry& registry);
void register_norm(Registry& registry);
void register_reduce(Registry& registry);
void register_rotary(Registry& registry);
void register_scatter(Registry& registry);
void register_shape_ops(Registry& registry);
void register_slice_ops(Registry& registry);

}  // namespace calkit::exec
