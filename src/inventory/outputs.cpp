// What follows for the outputs of a node from what is known of its inputs.
#include <algorithm>

#include "fact.h"

namespace calkit::inventory {
namespace {

constexpr onnx::ElementType kInt64 = 7, kBool = 9, kFloat = 1;

onnx::ElementType type_of(const Call& call, std::size_t output) {
  const std::string& op = call.node.op_type;
  const auto input = [&](std::size_t index) { return call.input(index) ? call.input(index)->type : 0; };
  const auto one_of = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), op) != names.end();
  };
  if (op == "Cast") return static_cast<onnx::ElementType>(call.node.int_or("to", 0));
  if (one_of(
          {"Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "And", "Or", "Not", "Xor", "IsNaN", "IsInf"}))
    return kBool;
  if (one_of({"Shape", "Size", "NonZero", "ArgMax", "ArgMin"})) return kInt64;
  if (op == "TopK" && output == 1) return kInt64;
  if (op == "Where" || op == "CastLike") return input(1);
  if (op == "ConstantOfShape" || op == "Constant") {
    const auto* value = call.node.attribute("value");
    if (value && value->tensor) return onnx::from_dtype(value->tensor->dtype());
    if (op == "ConstantOfShape") return value ? 0 : kFloat;
    if (call.node.attribute("value_int") || call.node.attribute("value_ints")) return kInt64;
    return call.node.attribute("value_float") || call.node.attribute("value_floats") ? kFloat : 0;
  }
  if (one_of({"DequantizeLinear", "QuantizeLinear", "MatMulInteger", "ConvInteger", "DynamicQuantizeLinear", "OneHot"}))
    return 0;  // left to the standard inference
  return input(0);
}

Origin origin_of(const Call& call, const Operator& op) {
  if (!op.known) return Origin::kComputed;
  if (call.node.op_type == "Shape" || call.node.op_type == "Size") {
    const Fact* of = call.input(0);
    return of && of->origin == Origin::kConstant ? Origin::kConstant : Origin::kShapes;
  }
  Origin out = Origin::kConstant;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.node.inputs[i].empty()) continue;
    const Fact* fact = call.input(i);
    if (!fact || fact->origin >= Origin::kFed) return Origin::kComputed;
    out = std::max(out, fact->origin);
  }
  return out;
}

std::optional<Dims> constant_dims(const onnx::Node& node) {
  const auto* value = node.attribute("value");
  if (value && value->tensor) return Dims(value->tensor->shape().begin(), value->tensor->shape().end());
  for (const char* scalar : {"value_int", "value_float", "value_string"})
    if (node.attribute(scalar)) return Dims{};
  if (const auto* ints = node.attribute("value_ints")) return Dims{static_cast<std::int64_t>(ints->ints.size())};
  if (const auto* floats = node.attribute("value_floats"))
    return Dims{static_cast<std::int64_t>(floats->floats.size())};
  return std::nullopt;
}

}  // namespace

std::vector<Fact> outputs_of(const Call& call, const Operator& op) {
  std::vector<Fact> out(call.node.outputs.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].producer = op_key(call.node);
    if (!op.known) continue;
    out[i].type = call.node.domain.empty() ? type_of(call, i) : 0;
    out[i].origin = origin_of(call, op);
    out[i].dims = call.node.op_type == "Constant" ? constant_dims(call.node) : shape_of(call, op, i);
    if (i == 0) out[i].content = content_of(call);
  }
  return out;
}

}  // namespace calkit::inventory
