#include "attributes.h"

#include <array>

namespace calkit::fusion {
namespace {

using Kind = onnx::Attribute::Kind;

struct Default {
  std::string_view op, name;
  double value;
};
constexpr std::array kDefaults = {
    Default{"Attention", "is_causal", 0},
    Default{"Attention", "softcap", 0},
    Default{"Attention", "qk_matmul_output_mode", 0},
    Default{"Concat", "axis", 0},
    Default{"Gather", "axis", 0},
    Default{"RMSNormalization", "axis", -1},
    Default{"RMSNormalization", "epsilon", 1e-5f},
    Default{"RMSNormalization", "stash_type", 1},
    Default{"ReduceMax", "keepdims", 1},
    Default{"ReduceMax", "noop_with_empty_axes", 0},
    Default{"ReduceMean", "keepdims", 1},
    Default{"ReduceMean", "noop_with_empty_axes", 0},
    Default{"ReduceSum", "keepdims", 1},
    Default{"ReduceSum", "noop_with_empty_axes", 0},
    Default{"Reshape", "allowzero", 0},
    Default{"RotaryEmbedding", "interleaved", 0},
    Default{"RotaryEmbedding", "num_heads", 0},
    Default{"RotaryEmbedding", "rotary_embedding_dim", 0},
    Default{"Shape", "start", 0},
    Default{"Softmax", "axis", -1},
    Default{"TopK", "axis", -1},
    Default{"TopK", "largest", 1},
    Default{"TopK", "sorted", 1},
    Default{"Cast", "saturate", 1},
};

}  // namespace

std::optional<double> number_of(const onnx::Attribute& attribute) {
  if (attribute.kind == Kind::kInt) return static_cast<double>(attribute.i);
  if (attribute.kind == Kind::kFloat) return static_cast<double>(attribute.f);
  return std::nullopt;
}

std::optional<double> default_of(const onnx::Node& node, std::string_view name) {
  for (const Default& known : kDefaults)
    if (known.op == node.op_type && known.name == name) return known.value;
  return std::nullopt;
}

bool same_attribute(const onnx::Node& node, const onnx::Attribute& wanted) {
  const onnx::Attribute* there = node.attribute(wanted.name);
  if (there == nullptr) return number_of(wanted) && default_of(node, wanted.name) == number_of(wanted);
  if (!there->ref.empty()) return false;
  if (number_of(wanted)) return number_of(*there) == number_of(wanted);
  return there->kind == wanted.kind && there->ints == wanted.ints && there->s == wanted.s;
}

}  // namespace calkit::fusion
