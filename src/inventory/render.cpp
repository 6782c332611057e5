#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "calkit/base/text.h"
#include "calkit/inventory/inventory.h"
#include "walk.h"

namespace calkit::inventory {
namespace {

Value counts_value(const std::map<std::string, std::uint64_t>& counts) {
  Value out = Value::object();
  for (const auto& [key, count] : counts) out.set(key, count);
  return out;
}

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
                            {"example", family.example}}));
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

Value symbols_value(const Inventory& inventory) {
  Value out = Value::object();
  for (const auto& [symbol, places] : inventory.symbols) out.set(symbol, Value::list(places));
  return out;
}

std::string list_text(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ", ") + item;
  return out;
}

template <class Out>
void counts_text(Out out, const OpCounts& counts, int indent) {
  std::vector<std::pair<std::uint64_t, std::string>> rows;
  for (const auto& [op, count] : counts) rows.emplace_back(count, op);
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [count, op] : rows) fmt::format_to(out, "{:{}}{:>7}  {}\n", "", indent, count, op);
}

}  // namespace

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
       {"nodes", inventory.nodes},
       {"op_counts", counts_value(inventory.op_counts)},
       {"levels", levels_value(inventory)},
       {"families", families_value(inventory)},
       {"inputs", ports_value(inventory.inputs)},
       {"outputs", ports_value(inventory.outputs)},
       {"parameters_as_inputs", Value::list(inventory.parameters)},
       {"overridable", Value::list(inventory.overridable)},
       {"symbols", symbols_value(inventory)},
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
  return Value::object(
      {{"schema", "calkit.onnx-inventory/1"}, {"op_counts", counts_value(total)}, {"graphs", std::move(graphs)}});
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
    fmt::format_to(out, "{:>7}  {}({}) -> {}\n", family.count, family.op, list_text(family.inputs),
                   list_text(family.outputs));
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
