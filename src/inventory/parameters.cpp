#include "parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calkit/base/text.h"

namespace calkit::inventory {
namespace {

constexpr std::size_t kValues = 8, kShown = 12;

struct Row {
  std::string_view op;
  std::size_t input;
  std::string_view name;
};
// Inputs that older opsets had as attributes, or that decide a shape.
constexpr Row kRows[] = {
    {"Reshape", 1, "shape"},
    {"Expand", 1, "shape"},
    {"Slice", 1, "starts"},
    {"Slice", 2, "ends"},
    {"Slice", 3, "axes"},
    {"Slice", 4, "steps"},
    {"Unsqueeze", 1, "axes"},
    {"Squeeze", 1, "axes"},
    {"ReduceMean", 1, "axes"},
    {"ReduceSum", 1, "axes"},
    {"ReduceMax", 1, "axes"},
    {"ReduceMin", 1, "axes"},
    {"ReduceProd", 1, "axes"},
    {"ReduceL1", 1, "axes"},
    {"ReduceL2", 1, "axes"},
    {"ReduceLogSum", 1, "axes"},
    {"ReduceLogSumExp", 1, "axes"},
    {"ReduceSumSquare", 1, "axes"},
    {"Tile", 1, "repeats"},
    {"ConstantOfShape", 0, "input"},
    {"TopK", 1, "K"},
    {"Range", 0, "start"},
    {"Range", 1, "limit"},
    {"Range", 2, "delta"},
    {"Pad", 1, "pads"},
    {"Pad", 2, "constant_value"},
    {"Resize", 2, "scales"},
    {"Resize", 3, "sizes"},
    {"Split", 1, "split"},
    {"Trilu", 1, "k"},
    {"Clip", 1, "min"},
    {"Clip", 2, "max"},
    {"OneHot", 1, "depth"},
    {"CumSum", 1, "axis"},
    {"Dropout", 1, "ratio"},
    {"QuantizeLinear", 1, "y_scale"},
    {"QuantizeLinear", 2, "y_zero_point"},
    {"DequantizeLinear", 1, "x_scale"},
    {"DequantizeLinear", 2, "x_zero_point"},
};

template <class List>
std::string list_text(const List& list) {
  std::string out = "[";
  for (std::size_t i = 0; i < list.size() && i < kShown; ++i) out += fmt::format("{}{}", i == 0 ? "" : ", ", list[i]);
  return out + (list.size() > kShown ? fmt::format(", ... {} in all]", list.size()) : "]");
}

std::string value_text(const onnx::Attribute& attribute) {
  using Kind = onnx::Attribute::Kind;
  if (!attribute.ref.empty()) return "the caller's " + printable(attribute.ref);
  switch (attribute.kind) {
    case Kind::kFloat:
      return fmt::format("{}", attribute.f);
    case Kind::kInt:
      return fmt::format("{}", attribute.i);
    case Kind::kString:
      return "\"" + printable(attribute.s) + "\"";
    case Kind::kFloats:
      return list_text(attribute.floats);
    case Kind::kInts:
      return list_text(attribute.ints);
    case Kind::kStrings:
      return fmt::format("{} strings", attribute.strings.size());
    case Kind::kTensor:
      if (!attribute.tensor) return "a tensor";
      return fmt::format("{}{}", onnx::element_type_name(onnx::from_dtype(attribute.tensor->dtype())),
                         list_text(attribute.tensor->shape()));
    case Kind::kGraph:
    case Kind::kGraphs:
      return "a graph";
    case Kind::kOther:
      break;
  }
  return "of another kind";
}

}  // namespace

void Parameters::add(const Call& call, const std::string& op) {
  const auto row = [&](std::string_view name) -> Parameter& {
    Parameter& out = rows_[{op, std::string(name)}];
    out.op = op;
    out.name = name;
    return out;
  };
  for (const onnx::Attribute& attribute : call.node.attributes) {
    Parameter& out = row(printable(attribute.name));
    const std::string text = value_text(attribute);
    if (out.values.size() < kValues || out.values.contains(text))
      ++out.values[text];
    else
      ++out.other_values;
  }
  if (!call.node.domain.empty()) return;
  for (const Row& known : kRows) {
    if (known.op != call.node.op_type || known.input >= call.inputs.size() || call.node.inputs[known.input].empty())
      continue;
    Parameter& out = row(known.name);
    out.is_input = true;
    const Fact* fact = call.input(known.input);
    ++(!fact                               ? out.computed
       : fact->origin == Origin::kConstant ? out.constant
       : fact->origin == Origin::kShapes   ? out.shapes
       : fact->origin == Origin::kFed      ? out.fed
                                           : out.computed);
  }
}

std::vector<Parameter> Parameters::take() {
  std::vector<Parameter> out;
  for (auto& [key, row] : rows_) out.push_back(std::move(row));
  return out;
}

}  // namespace calkit::inventory
