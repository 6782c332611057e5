#pragma once
// What is known of one value while a graph is walked; private to the module.
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "calkit/inventory/formula.h"
#include "calkit/onnx/model.h"

namespace calkit::inventory {

using Dims = std::vector<Formula>;  ///< an unknown extent is an unknown formula

/// Where a value comes from, from the most to the least that is known before the first call.
enum class Origin {
  kConstant,  ///< in the file, or computed from what is in the file
  kShapes,    ///< computed from constants and from shapes
  kFed,       ///< an input of the graph
  kComputed,
};

struct Fact {
  std::string producer;  ///< op key, "(input)", "(initializer)"
  onnx::ElementType type = 0;
  std::optional<Dims> dims;
  std::optional<std::vector<Formula>> content;  ///< the elements of a small whole-number tensor
  Origin origin = Origin::kComputed;
  const onnx::Initializer* weight = nullptr;
  std::string text = "?";  ///< type and shape
  bool is_output = false;
  std::uint64_t consumers = 0;
  std::set<std::string> readers;  ///< operators that read the weight
};

/// A node and what is known of its inputs; nullptr: an absent input or one that nothing produces.
struct Call {
  const onnx::Node& node;
  std::span<const Fact* const> inputs;

  const Fact* input(std::size_t index) const { return index < inputs.size() ? inputs[index] : nullptr; }
  const Dims* dims(std::size_t index) const {
    const Fact* fact = input(index);
    return fact && fact->dims ? &*fact->dims : nullptr;
  }
  const std::vector<Formula>* content(std::size_t index) const {
    const Fact* fact = input(index);
    return fact && fact->content ? &*fact->content : nullptr;
  }
  /// The whole numbers of an attribute, or else of that input; nullopt: absent or not known.
  std::optional<std::vector<std::int64_t>> numbers(std::string_view attribute, std::size_t index) const;
};

/// What an operator does, as far as shapes and costs go.
enum class Kind {
  kView,    ///< the same bytes under another shape, or no bytes at all: costs nothing
  kMove,    ///< moves bytes, computes nothing
  kMap,     ///< element by element, operands are broadcast
  kLike,    ///< a result shaped like input 0, some operations for each element
  kReduce,  ///< some operations for each element of input 0
  kWindow,  ///< a pool: one operation for each element of each window
  kMatMul,  ///< MatMul and what has its shapes
  kGemm,
  kConv,
  kConvTranspose,
  kAttention,
  kRecurrent,
  kControl,  ///< runs other graphs
  kOther,    ///< no formula
};
struct Operator {
  Kind kind = Kind::kOther;
  int cost = 0;        ///< operations for each element
  bool known = false;  ///< listed: the same answer for the same input, so that constants can be folded
};
/// @param op "ai.onnx:MatMul"
const Operator& operator_of(std::string_view op);
bool is_float(onnx::ElementType type);
std::string op_key(const onnx::Node& node);

/// Shape, type, content and origin of the outputs, as far as they follow from the inputs.
std::vector<Fact> outputs_of(const Call& call, const Operator& op);
/// Shapes alone and contents alone; for outputs_of().
std::optional<Dims> shape_of(const Call& call, const Operator& op, std::size_t output);
std::optional<Dims> moved_shape(const Call& call, std::size_t output);  ///< of Kind::kMove
std::optional<std::vector<Formula>> content_of(const Call& call);
std::optional<std::vector<Formula>> content_of_tensor(const Tensor& tensor);  ///< of at most kMaxContent elements
std::optional<Dims> broadcast(const std::vector<const Dims*>& operands);
/// An axis as ONNX states it, counted from the front; nullopt when it is none of `rank`.
std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank);
constexpr std::size_t kMaxContent = 64;  ///< elements of a tensor whose values are followed

}  // namespace calkit::inventory
