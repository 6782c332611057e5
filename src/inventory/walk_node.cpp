// One node: what follows for its outputs, its family, its verdict and its cost.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cost.h"
#include "walk.h"

namespace calkit::inventory {
namespace {

std::string fact_text(const Fact& fact) {
  if (fact.type == 0) return "?";
  std::string out = onnx::element_type_name(fact.type);
  if (!fact.dims) return out + "[...]";
  std::string dims;
  for (const Formula& extent : *fact.dims) dims += (dims.empty() ? "" : ", ") + extent.text();
  return out + "[" + dims + "]";
}

/// A function's node with the attributes that its caller gives it. @return false: the caller gives none for one of
/// them.
bool resolve(onnx::Node& node, const onnx::Node* call) {
  bool complete = true;
  for (onnx::Attribute& attribute : node.attributes) {
    if (attribute.ref.empty()) continue;
    const onnx::Attribute* given = call ? call->attribute(attribute.ref) : nullptr;
    complete &= given != nullptr;
    const std::string name = attribute.name;
    if (given) attribute = *given;
    attribute.name = name;
  }
  return complete;
}

bool has_reference(const onnx::Node& node) {
  return std::any_of(node.attributes.begin(), node.attributes.end(),
                     [](const onnx::Attribute& attribute) { return !attribute.ref.empty(); });
}

/// The one symbol that a formula is, or nothing.
std::string lone_symbol(const Formula& formula) {
  const auto symbols = formula.symbols();
  return symbols.size() == 1 && formula == Formula::symbol(*symbols.begin()) ? *symbols.begin() : "";
}

}  // namespace

struct Walk::View {
  const onnx::Node& node;  ///< its attributes resolved
  const Operator* op;
  std::vector<const Fact*> inputs;
  std::vector<const Fact*> outputs;
  Support support;
  Call call() const { return {node, inputs}; }
};

void Walk::node(const onnx::Node& original, Scope& scope, OpCounts& counts) {
  static const Operator kNothing;
  const std::string op = op_key(original);
  if (!has_reference(original)) {
    View view{original, &operator_of(op), {}, {}, {}};
    return visit(view, original, op, scope, counts);
  }
  onnx::Node copy = original;
  const bool complete = resolve(copy, call_);
  View view{copy, complete ? &operator_of(op) : &kNothing, {}, {}, {}};
  visit(view, original, op, scope, counts);
}

void Walk::visit(View& view, const onnx::Node& original, const std::string& op, Scope& scope, OpCounts& counts) {
  Body* body = body_of(original);
  follow(view, scope);
  if (body) function(*body, &view.node, &scope);
  const bool folds = view.op->known && !view.outputs.empty() &&
                     std::all_of(view.outputs.begin(), view.outputs.end(),
                                 [](const Fact* fact) { return fact && fact->origin == Origin::kConstant; });
  if (body)
    view.support.state = Support::State::kFunction;
  else if (folds)
    view.support.state = Support::State::kFolded;
  else
    view.support = judge_.judge(view.call(), view.outputs);
  if (counting_) {
    ++counts[op];
    ++out_.op_counts[op];
    ++out_.nodes;
    parameters_.add(view.call(), op);
    for (const onnx::Attribute& attribute : original.attributes) {
      if (!attribute.tensor) continue;
      ++out_.constants.count;
      out_.constants.bytes += attribute.tensor->bytes();
    }
    for (const std::string& input : original.inputs)
      if (!input.empty()) consume(input, op, scope);
    family_of_[&original] = &count(view, op);
    out_.has_control_flow |= view.op->kind == Kind::kControl;
  }
  const auto family = family_of_.find(&original);
  if (spending_ && !body && family != family_of_.end()) spend(view, op, *family->second);
}

void Walk::follow(View& view, Scope& scope) {
  for (const std::string& input : view.node.inputs) view.inputs.push_back(input.empty() ? nullptr : scope.find(input));
  auto found = outputs_of(view.call(), *view.op);
  for (std::size_t i = 0; i < found.size(); ++i) {
    Fact* fact = view.node.outputs[i].empty() ? nullptr : scope.find(view.node.outputs[i]);
    if (fact) refine(*fact, std::move(found[i]));
    view.outputs.push_back(fact);
  }
}

// What the file and the standard inference say stands; what they leave open, or call by a name of the exporter's own,
// is taken from what was found.
void Walk::refine(Fact& known, Fact&& found) {
  known.origin = found.origin;
  known.content = std::move(found.content);
  bool changed = known.type == 0 && found.type != 0;
  if (changed) known.type = found.type;
  if (found.dims && !known.dims) {
    known.dims = std::move(found.dims);
    changed = true;
  } else if (found.dims && found.dims->size() == known.dims->size()) {
    for (std::size_t i = 0; i < found.dims->size(); ++i) {
      Formula &have = (*known.dims)[i], &made = (*found.dims)[i];
      if (!made.known() || have == made) continue;
      const auto symbols = made.symbols();
      const bool from_roots = std::includes(roots_.begin(), roots_.end(), symbols.begin(), symbols.end());
      const std::string name = lone_symbol(have);
      if (!name.empty() && from_roots && !symbols.empty() && !symbols.contains(name))
        out_.relations.try_emplace(name, made);
      const auto stated = have.symbols();
      const bool stated_roots = std::includes(roots_.begin(), roots_.end(), stated.begin(), stated.end());
      if (have.known() && (stated_roots || !from_roots)) continue;
      have = std::move(made);
      changed = true;
    }
  }
  if (changed) known.text = fact_text(known);
}

Family& Walk::count(const View& view, const std::string& op) {
  Family family;
  family.op = op;
  family.count = 1;
  family.example = view.node.name;
  family.support = view.support;
  std::string key = op;
  const auto describe = [&](const std::vector<std::string>& names, const std::vector<const Fact*>& facts,
                            std::vector<std::string>& list) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      list.push_back(names[i].empty() ? "-" : facts[i] ? facts[i]->text : "?");
      key += "\n" + list.back();
    }
    key += "\n>";
  };
  describe(view.node.inputs, view.inputs, family.inputs);
  describe(view.node.outputs, view.outputs, family.outputs);
  key += fmt::format("{} {} {} {}", state_name(view.support.state), view.support.kernel, view.support.note,
                     view.support.reason);
  const auto [place, added] = families_.try_emplace(key, std::move(family));
  if (!added) ++place->second.count;
  return place->second;
}

void Walk::spend(const View& view, const std::string& op, Family& family) {
  const Cost cost = cost_of(view.call(), *view.op, view.outputs);
  family.cost.flops += cost.flops;
  family.cost.weights += cost.weights;
  family.cost.read += cost.read;
  family.cost.written += cost.written;
  if (cost.flops.known())
    out_.cost.flops += cost.flops;
  else
    ++out_.flops_unknown[op];
  if (cost.bytes().known()) {
    out_.cost.weights += cost.weights;
    out_.cost.read += cost.read;
    out_.cost.written += cost.written;
  } else {
    ++out_.bytes_unknown[op];
  }
  tokens(view);
}

/// Tokens are what the largest table of the graph is looked up with.
void Walk::tokens(const View& view) {
  if (op_key(view.node) != "ai.onnx:Gather" || view.inputs.size() != 2) return;
  const Fact *table = view.inputs[0], *ids = view.inputs[1];
  if (!table || !ids || table->origin != Origin::kConstant || ids->origin < Origin::kFed || !table->dims ||
      table->dims->size() != 2)
    return;
  const auto elements = elements_of(table->dims).whole();
  if (!elements || *elements <= table_elements_) return;
  table_elements_ = *elements;
  out_.tokens = elements_of(ids->dims);
  out_.tokens_reason =
      fmt::format("the values of '{}', which the table of {} is looked up with", view.node.inputs[1], table->text);
}

}  // namespace calkit::inventory
