#include "judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/document.h"

namespace calkit::inventory {
namespace {

using manifest::OpCondition;
using manifest::OpRow;

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

std::string type_text(const Fact& fact) {
  return fact.type == 0 ? "an unknown type" : onnx::element_type_name(fact.type);
}

bool has_type(const Fact& fact, const std::vector<std::string>& types) {
  return fact.type != 0 && std::find(types.begin(), types.end(), onnx::element_type_name(fact.type)) != types.end();
}

bool same_value(const Value& wanted, const onnx::Attribute& found) {
  using Kind = onnx::Attribute::Kind;
  if (found.kind == Kind::kInt) return wanted.if_int() == found.i;
  if (found.kind == Kind::kString) return wanted.if_string() && *wanted.if_string() == found.s;
  if (found.kind == Kind::kFloat) return wanted.if_number() && static_cast<float>(*wanted.if_number()) == found.f;
  return found.kind == Kind::kInts && wanted == Value::list(found.ints);
}

std::string attribute_fault(const OpCondition& condition, const onnx::Node& node) {
  const onnx::Attribute* found = node.attribute(condition.attribute);
  if (condition.present && *condition.present != (found != nullptr))
    return fmt::format("attribute {} must be {}", condition.attribute, *condition.present ? "stated" : "absent");
  if (condition.one_of.empty() || (!found && condition.or_absent)) return "";
  const bool fits = found && std::any_of(condition.one_of.begin(), condition.one_of.end(),
                                         [&](const Value& value) { return same_value(value, *found); });
  if (fits) return "";
  return fmt::format("attribute {} must be one of {}", condition.attribute,
                     to_json(Value(Value::Array(condition.one_of)), {.indent = -1}));
}

std::string extent_fault(const OpCondition& condition, const Formula& extent, const std::string& place) {
  const auto number = extent.whole();
  const std::string at = fmt::format("axis {} of {} ({})", *condition.axis, place, extent.text());
  if (condition.is_static && !number) return at + " must be a number";
  if (condition.multiple_of && !extent.multiple_of(*condition.multiple_of))
    return fmt::format("{} must be a multiple of {}", at, *condition.multiple_of);
  if (condition.min && (!number || *number < *condition.min))
    return fmt::format("{} must be {} or more", at, *condition.min);
  if (condition.max && (!number || *number > *condition.max))
    return fmt::format("{} must be {} or less", at, *condition.max);
  const auto is = [&](const Value& value) { return number && value.if_int() == number; };
  if (!condition.one_of.empty() && std::none_of(condition.one_of.begin(), condition.one_of.end(), is))
    return fmt::format("{} must be one of {}", at, to_json(Value(Value::Array(condition.one_of)), {.indent = -1}));
  return "";
}

std::string shape_fault(const OpCondition& condition, const Fact& fact, const std::string& place) {
  const bool asks = condition.min_rank || condition.max_rank || condition.axis || condition.is_static;
  if (!asks) return "";
  if (!fact.dims) return fmt::format("the rank of {} is not known", place);
  const auto rank = static_cast<std::int64_t>(fact.dims->size());
  if (condition.min_rank && rank < *condition.min_rank)
    return fmt::format("{} must have rank {} or more", place, *condition.min_rank);
  if (condition.max_rank && rank > *condition.max_rank)
    return fmt::format("{} must have rank {} or less", place, *condition.max_rank);
  if (condition.axis) {
    const auto axis = axis_of(*condition.axis, fact.dims->size());
    return axis ? extent_fault(condition, (*fact.dims)[*axis], place)
                : fmt::format("{} has no axis {}", place, *condition.axis);
  }
  const bool fixed =
      std::all_of(fact.dims->begin(), fact.dims->end(), [](const Formula& f) { return f.whole().has_value(); });
  return condition.is_static && !fixed ? fmt::format("the extents of {} must be numbers", place) : "";
}

std::string value_fault(const OpCondition& condition, const Call& call, std::span<const Fact* const> outputs) {
  const bool input = condition.of == OpCondition::Of::kInput;
  const auto& names = input ? call.node.inputs : call.node.outputs;
  const bool present = condition.index < names.size() && !names[condition.index].empty();
  const std::string place = fmt::format("{} {}", input ? "input" : "output", condition.index);
  if (condition.present && *condition.present != present)
    return fmt::format("{} must be {}", place, *condition.present ? "given" : "absent");
  if (!present) return "";  // nothing to ask of what is absent
  const Fact* fact = input ? call.input(condition.index) : outputs[condition.index];
  static const Fact nothing;
  if (!fact) fact = &nothing;
  if (condition.constant && *condition.constant != (fact->origin == Origin::kConstant))
    return fmt::format("{} must {}be constant", place, *condition.constant ? "" : "not ");
  if (!condition.types.empty() && !has_type(*fact, condition.types))
    return fmt::format("{} is {}, the kernel takes {}", place, type_text(*fact), joined(condition.types));
  return shape_fault(condition, *fact, place);
}

/// Why the row does not fit, or empty.
std::string fault(const OpRow& row, const Call& call, std::span<const Fact* const> outputs, std::int64_t opset) {
  if ((row.min_opset && opset < *row.min_opset) || (row.max_opset && opset > *row.max_opset))
    return fmt::format("opset {} is outside the row's range", opset);
  if (!row.types.empty()) {
    for (const auto& [facts, names] : {std::pair{call.inputs, &call.node.inputs}, {outputs, &call.node.outputs}})
      for (std::size_t i = 0; i < facts.size(); ++i)
        if (!(*names)[i].empty() && (!facts[i] || !has_type(*facts[i], row.types)))
          return fmt::format("{} {} is {}, the row is for {}", names == &call.node.inputs ? "input" : "output", i,
                             facts[i] ? type_text(*facts[i]) : "an unknown type", joined(row.types));
  }
  for (const OpCondition& condition : row.where) {
    std::string text = condition.of == OpCondition::Of::kAttribute ? attribute_fault(condition, call.node)
                                                                   : value_fault(condition, call, outputs);
    if (!text.empty()) return text;
  }
  return "";
}

}  // namespace

std::string_view state_name(Support::State state) {
  switch (state) {
    case Support::State::kFolded:
      return "folded";
    case Support::State::kFunction:
      return "function";
    case Support::State::kNpu:
      return "npu";
    case Support::State::kCpu:
      return "cpu";
    case Support::State::kNeedsKernel:
      return "needs-kernel";
    case Support::State::kUnsupported:
      break;
  }
  return "unsupported";
}

Judge::Judge(const manifest::OpSupport& matrix, const std::map<std::string, std::int64_t>& opsets) : opsets_(opsets) {
  for (const OpRow& row : matrix.rows)
    for (const std::string& op : row.ops) rows_[op].push_back(&row);
}

Support Judge::judge(const Call& call, std::span<const Fact* const> outputs) const {
  Support out;
  const std::string op = op_key(call.node);
  const auto rows = rows_.find(op);
  if (rows == rows_.end()) {
    out.reason = "no row speaks of " + op;
    return out;
  }
  const auto opset = opsets_.find(call.node.domain);
  for (const OpRow* row : rows->second) {
    const std::string text = fault(*row, call, outputs, opset == opsets_.end() ? 0 : opset->second);
    if (!text.empty()) {
      if (out.reason.empty()) out.reason = text;  // the first row is the one an author meant first
      continue;
    }
    out.reason.clear();
    out.state = row->run == OpRow::Run::kNpu   ? Support::State::kNpu
                : row->run == OpRow::Run::kCpu ? Support::State::kCpu
                                               : Support::State::kNeedsKernel;
    out.kernel = row->kernel;
    out.status = row->status;
    out.source = row->source;
    out.note = row->note;
    out.assumed = row->assumed;
    return out;
  }
  return out;
}

}  // namespace calkit::inventory
