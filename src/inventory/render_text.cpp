#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

#include "calkit/base/text.h"
#include "ranking.h"
#include "render.h"
#include "walk.h"

namespace calkit::inventory {
namespace {

using Out = std::back_insert_iterator<std::string>;

void counts_text(Out out, const OpCounts& counts, int indent) {
  std::vector<std::pair<std::uint64_t, std::string>> rows;
  for (const auto& [op, count] : counts) rows.emplace_back(count, op);
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [count, op] : rows) fmt::format_to(out, "{:{}}{:>7}  {}\n", "", indent, count, op);
}

void cost_text(Out out, const Inventory& inventory) {
  fmt::format_to(out, "one call{}:\n", inventory.at.empty() ? "" : " (at " + bindings_text(inventory.at) + ")");
  const auto line = [&](const char* title, const Formula& formula) {
    fmt::format_to(out, "  {:<18} {}\n", title, formula_text(formula, inventory));
  };
  line("FLOPs", inventory.cost.flops);
  line("weights read, B", inventory.cost.weights);
  line("values read, B", inventory.cost.read);
  line("values written, B", inventory.cost.written);
  line("inputs, B", inventory.input_bytes);
  line("outputs, B", inventory.output_bytes);
  line("tokens", inventory.tokens);
  fmt::format_to(out, "  {:<18} {}\n", "", inventory.tokens_reason);
  line("FLOPs a token", inventory.cost.flops.over(inventory.tokens));
  line("bytes a token", inventory.cost.bytes().over(inventory.tokens));
  for (const auto& [title, counts] :
       {std::pair{"FLOPs", &inventory.flops_unknown}, {"bytes", &inventory.bytes_unknown}})
    for (const auto& [op, count] : *counts)
      fmt::format_to(out, "  without {}: {}, {} node{}\n", title, op, count, count == 1 ? "" : "s");
  if (inventory.has_control_flow) fmt::format_to(out, "  bodies of If, Loop and Scan count once\n");
}

void support_text(Out out, const Inventory& inventory) {
  fmt::format_to(out, "support by {}:", inventory.support_target);
  for (const auto& [state, nodes] : nodes_by_state(inventory)) fmt::format_to(out, " {} {}", state_name(state), nodes);
  fmt::format_to(out, "\n");
  if (const std::uint64_t assumed = assumed_nodes(inventory); assumed > 0)
    fmt::format_to(out, "  assumed, not stated by whoever builds the device: {} nodes\n", assumed);
  if (inventory.kernels.empty()) return;
  fmt::format_to(out, "what one kernel buys (share of nodes, FLOPs, bytes; then all so far):\n");
  for (const Kernel& kernel : inventory.kernels)
    fmt::format_to(out, "  {:<12}  {}: {} node{}, {} {} {}; {} {} {}; {}\n", state_name(kernel.now), kernel.name,
                   kernel.nodes, kernel.nodes == 1 ? "" : "s", percent_text(kernel.node_share),
                   percent_text(kernel.flop_share), percent_text(kernel.byte_share), percent_text(kernel.nodes_so_far),
                   percent_text(kernel.flops_so_far), percent_text(kernel.bytes_so_far), kernel.reason);
}

void custom_text(Out out, const Inventory& inventory) {
  for (const CustomOperator& custom : inventory.custom_operators) {
    fmt::format_to(out, "custom operator {}: {} node{}, {}", printable(custom.op, SIZE_MAX), custom.nodes,
                   custom.nodes == 1 ? "" : "s", custom.function ? "a function of the model" : "no function");
    if (const auto* op = custom.description.op)
      fmt::format_to(out, "; {} ({}){}\n", printable(op->semantics, 200), op->status,
                     op->body.empty() ? ", described without a body" : "");
    else
      fmt::format_to(out, "; described nowhere\n");
  }
}

void structure_text(Out out, const Inventory& inventory) {
  if (inventory.layer.repeats > 1)
    fmt::format_to(out, "layer: {} nodes, {} times in a row\n", inventory.layer.nodes.size(), inventory.layer.repeats);
  for (const Candidate& candidate : inventory.candidates)
    fmt::format_to(out, "fusion candidate {}: {} as one operator, {} spelt out\n", candidate.pattern, candidate.fused,
                   candidate.spelt_out);
  for (const auto& [symbol, formula] : inventory.relations)
    fmt::format_to(out, "axis {} = {}\n", printable(symbol), formula.text());
  for (const Parameter& parameter : inventory.operator_parameters)
    if (parameter.is_input && parameter.fed + parameter.computed > 0)
      fmt::format_to(out, "computed {} of {}: {} from values, {} from shapes, {} constant\n", parameter.name,
                     parameter.op, parameter.fed + parameter.computed, parameter.shapes, parameter.constant);
}

}  // namespace

std::string list_text(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ", ") + item;
  return out;
}

std::string signature(const Family& family) {
  return fmt::format("({}) -> {}", list_text(family.inputs), list_text(family.outputs));
}

std::string si_text(double value) {
  const char* const units[] = {"", " k", " M", " G", " T", " P"};
  std::size_t unit = 0;
  while (std::abs(value) >= 1000 && unit + 1 < std::size(units)) value /= 1000, ++unit;
  if (unit == 0 && value == std::floor(value)) return fmt::format("{}", static_cast<std::int64_t>(value));
  return fmt::format("{:.{}f}{}", value, value < 10 ? 2 : value < 100 ? 1 : 0, units[unit]);
}

std::string percent_text(double share) {
  return fmt::format("{:.1f}%", share * 100);
}

std::string bindings_text(const Bindings& bindings) {
  std::string out;
  for (const auto& [name, value] : bindings) out += fmt::format("{}{}={}", out.empty() ? "" : ", ", name, value);
  return out;
}

std::string formula_text(const Formula& formula, const Inventory& inventory) {
  if (!formula.known()) return "not known";
  const auto value = value_at(formula, inventory);
  if (formula.symbols().empty() && value) return formula.whole() ? formula.text() : si_text(*value);
  return formula.text() + (value ? " = " + si_text(*value) : "");
}

std::vector<std::pair<Support::State, std::uint64_t>> nodes_by_state(const Inventory& inventory) {
  std::map<Support::State, std::uint64_t> sums;
  for (const Family& family : inventory.families) sums[family.support.state] += family.count;
  return {sums.begin(), sums.end()};
}

std::uint64_t assumed_nodes(const Inventory& inventory) {
  std::uint64_t out = 0;
  for (const Family& family : inventory.families) out += family.support.assumed ? family.count : 0;
  return out;
}

std::string to_text(const Inventory& inventory) {
  std::string text;
  auto out = std::back_inserter(text);
  std::vector<std::string> opsets;
  for (const auto& [domain, version] : inventory.opsets) opsets.push_back(fmt::format("{} {}", domain, version));
  fmt::format_to(out, "{}: {}, IR {}, opset {}, producer {}\n", inventory.file, format_bytes(inventory.file_bytes),
                 inventory.ir_version, list_text(opsets),
                 inventory.producer.empty() ? "not stated" : inventory.producer);
  for (const auto& [title, ports] : {std::pair{"inputs to feed", &inventory.inputs}, {"outputs", &inventory.outputs}}) {
    fmt::format_to(out, "{}: {}\n", title, ports->size());
    for (const onnx::ValueInfo& port : *ports) fmt::format_to(out, "  {}  {}\n", port.name, value_text(port));
  }
  for (const auto& [symbol, places] : inventory.symbols)
    fmt::format_to(out, "axis {}: {} places, first {}\n", symbol, places.size(), places.front());
  fmt::format_to(out, "nodes: {}, operators: {}\n", inventory.nodes, inventory.op_counts.size());
  counts_text(out, inventory.op_counts, 0);
  if (inventory.levels.size() > 1)
    for (const Level& level : inventory.levels) {
      fmt::format_to(out, "  at {}\n", level.path);
      counts_text(out, level.op_counts, 2);
    }
  fmt::format_to(out, "shape families: {}\n", inventory.families.size());
  for (const Family& family : inventory.families)
    fmt::format_to(out, "{:>7}  {:<12}  {}{}\n", family.count, state_name(family.support.state), family.op,
                   signature(family));
  cost_text(out, inventory);
  support_text(out, inventory);
  custom_text(out, inventory);
  structure_text(out, inventory);
  fmt::format_to(out, "values: {}, {} without a shape, {} read by nothing\n", inventory.values,
                 inventory.values_without_shape, inventory.values_unused);
  fmt::format_to(out, "initialisers: {}, {}; inside nodes: {}, {}\n", inventory.weights.count,
                 format_bytes(inventory.weights.bytes), inventory.constants.count,
                 format_bytes(inventory.constants.bytes));
  for (const auto& [title, sums] : {std::pair{"type", &inventory.weights_by_type},
                                    {"read by", &inventory.weights_by_consumer},
                                    {"file", &inventory.external_files}})
    for (const auto& [key, sum] : *sums)
      fmt::format_to(out, "  {} {}: {}, {}\n", title, printable(key, SIZE_MAX), sum.count, format_bytes(sum.bytes));
  for (const Weight& weight : inventory.largest)
    fmt::format_to(out, "  {:>10}  {} {}{}\n", format_bytes(weight.bytes), printable(weight.name, SIZE_MAX),
                   weight.type, shape_text(weight.dims));
  if (!inventory.inference_note.empty()) fmt::format_to(out, "shape inference: {}\n", inventory.inference_note);
  for (const Finding& finding : inventory.findings)
    fmt::format_to(out, "{}: {}\n", finding.severity == Finding::Severity::kError ? "error" : "note", finding.text);
  return text;
}

}  // namespace calkit::inventory
