#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "calkit/base/text.h"
#include "calkit/inventory/inventory.h"
#include "ranking.h"
#include "render.h"

namespace calkit::inventory {
namespace {

Value sum_value(const Sum& sum) {
  return Value::object({{"count", sum.count}, {"bytes", sum.bytes}});
}

Value sums_value(const std::map<std::string, Sum>& sums) {
  Value out = Value::object();
  for (const auto& [key, sum] : sums) out.set(key, sum_value(sum));
  return out;
}

Value shape_value(const onnx::ValueInfo& value) {
  if (!value.shape) return nullptr;
  Value out = Value::array();
  for (const onnx::Dim& dim : *value.shape) {
    if (const auto* number = std::get_if<std::int64_t>(&dim.value))
      out.push(*number);
    else if (const auto* symbol = std::get_if<std::string>(&dim.value))
      out.push(*symbol);
    else
      out.push(nullptr);
  }
  return out;
}

Value ports_value(const std::vector<onnx::ValueInfo>& ports) {
  Value out = Value::array();
  for (const onnx::ValueInfo& port : ports)
    out.push(Value::object({{"name", port.name},
                            {"type", port.type == 0 ? Value() : Value(onnx::element_type_name(port.type))},
                            {"shape", shape_value(port)}}));
  return out;
}

Value levels_value(const Inventory& inventory) {
  Value out = Value::array();
  for (const Level& level : inventory.levels)
    out.push(Value::object({{"path", level.path}, {"op_counts", counts_value(level.op_counts)}}));
  return out;
}

Value families_value(const Inventory& inventory) {
  Value out = Value::array();
  for (const Family& family : inventory.families)
    out.push(Value::object({{"op", family.op},
                            {"inputs", Value::list(family.inputs)},
                            {"outputs", Value::list(family.outputs)},
                            {"count", family.count},
                            {"example", family.example},
                            {"support", support_value(family.support)},
                            {"cost", cost_value(family.cost, inventory)}}));
  return out;
}

Value values_value(const Inventory& inventory) {
  Value consumers = Value::object();
  for (const auto& [count, values] : inventory.consumers) consumers.set(fmt::format("{}", count), values);
  Value edges = Value::array();
  for (const auto& [ends, count] : inventory.edges)
    edges.push(Value::object({{"from", ends.first}, {"to", ends.second}, {"count", count}}));
  return Value::object({{"count", inventory.values},
                        {"by_type", counts_value(inventory.value_types)},
                        {"without_shape", inventory.values_without_shape},
                        {"unused", inventory.values_unused},
                        {"by_consumers", std::move(consumers)},
                        {"edges", std::move(edges)}});
}

Value weights_value(const Inventory& inventory) {
  Value largest = Value::array();
  for (const Weight& weight : inventory.largest)
    largest.push(Value::object({{"name", weight.name},
                                {"type", weight.type},
                                {"dims", Value::list(weight.dims)},
                                {"bytes", weight.bytes},
                                {"level", weight.level},
                                {"external_file", weight.location.empty() ? Value() : Value(weight.location)}}));
  Value out = sum_value(inventory.weights);
  out.set("by_type", sums_value(inventory.weights_by_type));
  out.set("by_consumer", sums_value(inventory.weights_by_consumer));
  out.set("external_files", sums_value(inventory.external_files));
  out.set("largest", std::move(largest));
  out.set("in_nodes", sum_value(inventory.constants));
  return out;
}

Value findings_value(const Inventory& inventory) {
  Value out = Value::array();
  for (const Finding& finding : inventory.findings)
    out.push(Value::object(
        {{"severity", finding.severity == Finding::Severity::kError ? "error" : "note"}, {"text", finding.text}}));
  return out;
}

Value custom_value(const Inventory& inventory) {
  Value out = Value::array();
  for (const CustomOperator& custom : inventory.custom_operators)
    out.push(Value::object({{"op", custom.op},
                            {"nodes", custom.nodes},
                            {"function", custom.function},
                            {"description", manifest::to_value(custom.description)}}));
  return out;
}

Value symbols_value(const Inventory& inventory) {
  Value out = Value::object();
  for (const auto& [symbol, places] : inventory.symbols) out.set(symbol, Value::list(places));
  return out;
}

}  // namespace

Value counts_value(const std::map<std::string, std::uint64_t>& counts) {
  Value out = Value::object();
  for (const auto& [key, count] : counts) out.set(key, count);
  return out;
}

Value to_value(const Inventory& inventory) {
  return Value::object(
      {{"file", inventory.file},
       {"file_bytes", inventory.file_bytes},
       {"ir_version", inventory.ir_version},
       {"opsets",
        [&] {
          Value out = Value::object();
          for (const auto& [domain, version] : inventory.opsets) out.set(domain, version);
          return out;
        }()},
       {"producer", inventory.producer},
       {"functions", Value::list(inventory.functions)},
       {"custom_operators", custom_value(inventory)},
       {"nodes", inventory.nodes},
       {"op_counts", counts_value(inventory.op_counts)},
       {"levels", levels_value(inventory)},
       {"families", families_value(inventory)},
       {"inputs", ports_value(inventory.inputs)},
       {"outputs", ports_value(inventory.outputs)},
       {"parameters_as_inputs", Value::list(inventory.parameters)},
       {"overridable", Value::list(inventory.overridable)},
       {"symbols", symbols_value(inventory)},
       {"relations", relations_value(inventory)},
       {"function_calls", counts_value(inventory.function_calls)},
       {"operator_parameters", parameters_value(inventory)},
       {"candidates", candidates_value(inventory)},
       {"layer", layer_value(inventory)},
       {"at", bindings_value(inventory.at)},
       {"at_defaults", bindings_value(inventory.at_defaults)},
       {"cost", total_value(inventory)},
       {"support", matrix_value(inventory)},
       {"values", values_value(inventory)},
       {"initializers", weights_value(inventory)},
       {"inference_note", inventory.inference_note.empty() ? Value() : Value(inventory.inference_note)},
       {"findings", findings_value(inventory)},
       {"verdict", inventory.passed() ? "pass" : "fail"}});
}

Value to_document(const std::vector<Inventory>& inventories) {
  OpCounts total;
  Value graphs = Value::array();
  for (const Inventory& inventory : inventories) {
    for (const auto& [op, count] : inventory.op_counts) total[op] += count;
    graphs.push(to_value(inventory));
  }
  Value out = Value::object(
      {{"schema", "calkit.onnx-inventory/1"}, {"op_counts", counts_value(total)}, {"graphs", std::move(graphs)}});
  if (inventories.size() == 2) out.set("comparison", changes_value(diff(inventories[0], inventories[1])));
  return out;
}

}  // namespace calkit::inventory
