// The parts of the document about costs, support and structure.
#include <cmath>

#include "ranking.h"
#include "render.h"

namespace calkit::inventory {
namespace {

Value formula_value(const Formula& formula) {
  return formula.known() ? Value(formula.text()) : Value();
}

/// A whole number where it is one.
Value number_value(const Formula& formula, const Inventory& inventory) {
  const auto value = value_at(formula, inventory);
  if (!value) return nullptr;
  if (*value == std::floor(*value) && std::abs(*value) < 9e15) return static_cast<std::int64_t>(*value);
  return *value;
}

Value share_value(double share) {
  return std::round(share * 1e6) / 1e6;
}

Value kernel_value(const Kernel& kernel, const Inventory& inventory) {
  return Value::object({{"name", kernel.name},
                        {"now", state_name(kernel.now)},
                        {"ops", Value::list(kernel.ops)},
                        {"reason", kernel.reason},
                        {"nodes", kernel.nodes},
                        {"flops", formula_value(kernel.flops)},
                        {"bytes", formula_value(kernel.bytes)},
                        {"flops_at", number_value(kernel.flops, inventory)},
                        {"bytes_at", number_value(kernel.bytes, inventory)},
                        {"nodes_without_flops", kernel.flops_unknown},
                        {"nodes_without_bytes", kernel.bytes_unknown},
                        {"share", Value::object({{"nodes", share_value(kernel.node_share)},
                                                 {"flops", share_value(kernel.flop_share)},
                                                 {"bytes", share_value(kernel.byte_share)}})},
                        {"supported_so_far", Value::object({{"nodes", share_value(kernel.nodes_so_far)},
                                                            {"flops", share_value(kernel.flops_so_far)},
                                                            {"bytes", share_value(kernel.bytes_so_far)}})}});
}

}  // namespace

Value support_value(const Support& support) {
  const auto text = [](const std::string& word) { return word.empty() ? Value() : Value(word); };
  const bool from_row = !support.status.empty();
  return Value::object({{"state", state_name(support.state)},
                        {"kernel", text(support.kernel)},
                        {"status", text(support.status)},
                        {"assumed", from_row ? Value(support.assumed) : Value()},
                        {"source", text(support.source)},
                        {"note", text(support.note)},
                        {"reason", text(support.reason)}});
}

Value cost_value(const Cost& cost, const Inventory& inventory) {
  return Value::object({{"flops", formula_value(cost.flops)},
                        {"weight_bytes", formula_value(cost.weights)},
                        {"read_bytes", formula_value(cost.read)},
                        {"written_bytes", formula_value(cost.written)},
                        {"flops_at", number_value(cost.flops, inventory)},
                        {"bytes_at", number_value(cost.bytes(), inventory)}});
}

Value total_value(const Inventory& inventory) {
  Value out = cost_value(inventory.cost, inventory);
  const Formula flops = inventory.cost.flops.over(inventory.tokens),
                bytes = inventory.cost.bytes().over(inventory.tokens);
  out.set("input_bytes", formula_value(inventory.input_bytes));
  out.set("output_bytes", formula_value(inventory.output_bytes));
  out.set("tokens", formula_value(inventory.tokens));
  out.set("tokens_reason", inventory.tokens_reason);
  out.set("tokens_at", number_value(inventory.tokens, inventory));
  out.set("flops_per_token", formula_value(flops));
  out.set("bytes_per_token", formula_value(bytes));
  out.set("flops_per_token_at", number_value(flops, inventory));
  out.set("bytes_per_token_at", number_value(bytes, inventory));
  out.set("nodes_without_flops", counts_value(inventory.flops_unknown));
  out.set("nodes_without_bytes", counts_value(inventory.bytes_unknown));
  out.set("bodies_counted_once", inventory.has_control_flow);
  return out;
}

Value matrix_value(const Inventory& inventory) {
  Value states = Value::object(), kernels = Value::array();
  for (const auto& [state, nodes] : nodes_by_state(inventory)) states.set(state_name(state), nodes);
  for (const Kernel& kernel : inventory.kernels) kernels.push(kernel_value(kernel, inventory));
  return Value::object({{"target", inventory.support_target},
                        {"matrix", inventory.support_source},
                        {"nodes", std::move(states)},
                        {"assumed_nodes", assumed_nodes(inventory)},
                        {"kernels", std::move(kernels)}});
}

Value relations_value(const Inventory& inventory) {
  Value out = Value::object();
  for (const auto& [symbol, formula] : inventory.relations) out.set(symbol, formula.text());
  return out;
}

Value parameters_value(const Inventory& inventory) {
  Value out = Value::array();
  for (const Parameter& parameter : inventory.operator_parameters) {
    Value row = Value::object({{"op", parameter.op}, {"name", parameter.name}});
    row.set("from", parameter.is_input ? "input" : "attribute");
    if (parameter.is_input) {
      row.set("constant", parameter.constant);
      row.set("shapes", parameter.shapes);
      row.set("fed", parameter.fed);
      row.set("computed", parameter.computed);
    }
    if (!parameter.values.empty()) {
      row.set("values", counts_value(parameter.values));
      row.set("other_values", parameter.other_values);
    }
    out.push(std::move(row));
  }
  return out;
}

Value candidates_value(const Inventory& inventory) {
  Value out = Value::array();
  for (const Candidate& candidate : inventory.candidates)
    out.push(Value::object({{"pattern", candidate.pattern},
                            {"as_one_operator", candidate.fused},
                            {"spelt_out", candidate.spelt_out},
                            {"example", candidate.example}}));
  return out;
}

Value layer_value(const Inventory& inventory) {
  Value nodes = Value::array();
  for (const Layer::Node& node : inventory.layer.nodes) {
    Value from = Value::array();
    for (const std::size_t index : node.from) from.push(static_cast<std::uint64_t>(index));
    nodes.push(Value::object({{"op", node.op},
                              {"name", node.name},
                              {"output", node.output},
                              {"state", state_name(node.state)},
                              {"from", std::move(from)},
                              {"outside", Value::list(node.outside)}}));
  }
  return Value::object(
      {{"first", inventory.layer.first}, {"repeats", inventory.layer.repeats}, {"nodes", std::move(nodes)}});
}

Value bindings_value(const Bindings& bindings) {
  Value out = Value::object();
  for (const auto& [name, value] : bindings) out.set(name, value);
  return out;
}

}  // namespace calkit::inventory
