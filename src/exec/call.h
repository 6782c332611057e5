#pragma once
/// One call of a stateless operator: the node, its operands, and errors that name both. The registry of all operators.
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/exec/kernel.h"
#include "types.h"

namespace calkit::exec {

constexpr std::int64_t kOldestOpset = 7, kNewestOpset = 28;

struct Call {
  const onnx::Node& node;
  std::span<const Tensor* const> inputs;
  const OutputAllocator& out;
  std::int64_t opset = kNewestOpset;  ///< of ai.onnx, whose operators changed over time

  /// The operand, or nullptr where the node leaves it out.
  const Tensor* optional(std::size_t index) const { return index < inputs.size() ? inputs[index] : nullptr; }
  /// An operand that must be there.
  Result<const Tensor*> input(std::size_t index) const;
  /// All values of an integer operand (int64 or int32).
  Result<std::vector<std::int64_t>> ints(std::size_t index) const;
  /// The one value of an integer operand.
  Result<std::int64_t> one_int(std::size_t index) const;
  /// Integers that older operators keep in an attribute and newer ones take as operand `index`; none where both lack.
  Result<std::optional<std::vector<std::int64_t>>> ints_or_attribute(std::size_t index, std::string_view name) const;
  /// A string attribute.
  std::string text_or(std::string_view name, std::string_view otherwise) const;
  bool names_output(std::size_t index) const;
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
/// Sorted, without repetition, none of them negative. kInput for one outside the rank, or twice.
Result<std::vector<std::size_t>> normal_axes(const Call& call, const std::vector<std::int64_t>& axes, std::size_t rank);
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

/// What an operator is, for make_kernel() and for the list of claims.
struct Operator {
  std::size_t min_inputs = 0, max_inputs = 0;
  /// "NAME=KIND": i, f, s, t or g, and I or F for lists. "axes=I<13" is known below opset 13 only, "axis=i>=13" from
  /// there on. An attribute that is not here is refused, never ignored.
  std::vector<std::string_view> attributes = {};
  RunFunction run = nullptr;  ///< exactly one of the three is set
  ShapeFunction view = nullptr;
  Factory factory = nullptr;
  Types types = kAllTypes;     ///< of the operand `main`
  Types native = kAllTypes;    ///< those of `types` that its own code computes in; the others are widened and narrowed
  std::uint32_t same = 0;      ///< a bit for each input that has to be of the main operand's type; the rest by position
  std::uint32_t narrowed = 1;  ///< a bit for each output of the main operand's type
  std::size_t main = 0;
  std::int64_t since = kOldestOpset;  ///< first opset whose meaning the code has
};
constexpr std::uint32_t kEach = UINT32_MAX;
using Registry = std::map<std::string, Operator, std::less<>>;  ///< by "domain:type"; ai.onnx is ":type"

void register_activations(Registry& registry);
void register_arithmetic(Registry& registry);
void register_attention(Registry& registry);
void register_cast(Registry& registry);
void register_compare(Registry& registry);
void register_cumulative(Registry& registry);
void register_einsum(Registry& registry);
void register_experts(Registry& registry);
void register_fill(Registry& registry);
void register_fused_attention(Registry& registry);
void register_fused_experts(Registry& registry);
void register_fused_grouped(Registry& registry);
void register_fused_head(Registry& registry);
void register_fused_linear(Registry& registry);
void register_fused_quantize(Registry& registry);
void register_fused_quantized_linear(Registry& registry);
void register_gather(Registry& registry);
void register_gather_elements(Registry& registry);
void register_gemm(Registry& registry);
void register_integer_ops(Registry& registry);
void register_layer_norm(Registry& registry);
void register_matmul(Registry& registry);
void register_norm(Registry& registry);
void register_pad(Registry& registry);
void register_quantize(Registry& registry);
void register_quantized_matmul(Registry& registry);
void register_rearrange(Registry& registry);
void register_reduce(Registry& registry);
void register_rotary(Registry& registry);
void register_scatter(Registry& registry);
void register_shape_ops(Registry& registry);
void register_slice_ops(Registry& registry);
void register_softmax(Registry& registry);
void register_split(Registry& registry);
void register_top_k(Registry& registry);
void register_unary(Registry& registry);
void register_variadic(Registry& registry);

}  // namespace calkit::exec
