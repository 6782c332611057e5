#include "cut.h"

#include <algorithm>
#include <functional>
#include <set>

#include "calkit/passes/normalize.h"
#include "names.h"

namespace calkit::passes {
namespace {

constexpr std::int64_t kInputsApart = 4;  // before this IR version every initialiser has to be an input

using Names = std::set<std::string>;

Names reads_of_all(const onnx::Graph& graph) {
  Names out;
  for (const onnx::Node& node : graph.nodes) add_reads(node, out);
  return out;
}

Names made_by(const std::vector<onnx::Node>& nodes) {
  Names out;
  for (const onnx::Node& node : nodes)
    for (const std::string& output : node.outputs)
      if (!output.empty()) out.insert(output);
  return out;
}

onnx::ValueInfo info_of(const std::string& name, const Tensor& value) {
  onnx::ValueInfo out{name, onnx::from_dtype(value.dtype()), std::vector<onnx::Dim>()};
  for (const std::int64_t extent : value.shape()) out.shape->push_back(onnx::Dim::of(extent));
  return out;
}

/// A type as an input or output of the main graph has to state it.
std::optional<onnx::ValueInfo> info_of(const std::string& name, const Known& known) {
  const auto type = known.types.find(name);
  if (type != known.types.end() && type->second.type != 0 && type->second.shape) return type->second;
  const auto value = known.values.find(name);
  return value == known.values.end() ? std::nullopt : std::optional(info_of(name, value->second));
}

onnx::Initializer constant(const std::string& name, const Tensor& value) {
  onnx::Initializer out;
  out.name = name;
  out.type = onnx::from_dtype(value.dtype());
  out.dims = value.shape();
  out.bytes = value.bytes();
  out.data = value;
  return out;
}

/// Gives a value that nobody makes any more a source.
bool add_source(onnx::Model& model, const std::string& name, const Known& known) {
  if (const auto value = known.values.find(name); value != known.values.end()) {
    model.graph.initializers.push_back(constant(name, value->second));
    if (model.ir_version < kInputsApart) model.graph.inputs.push_back(info_of(name, value->second));
    return true;
  }
  auto info = info_of(name, known);
  if (info) model.graph.inputs.push_back(std::move(*info));
  return info.has_value();
}

/// The number of a value's elements instead of the value, whose type nothing tells: that of its Size is always known.
onnx::Node size_of(const std::string& value) {
  onnx::Node out;
  out.name = value + "/size";
  out.op_type = "Size";
  out.inputs = {value};
  out.outputs = {value + "/size"};
  return out;
}

/// A node whose values nobody reads any more gives them to the caller.
void open_outputs(onnx::Graph& graph, const Names& read_before, const Known& known) {
  Names used = reads_of_all(graph);
  for (const auto& output : graph.outputs) used.insert(output.name);
  std::vector<onnx::Node> sizes;
  for (const onnx::Node& node : graph.nodes) {
    const bool needed =
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](const auto& o) { return used.contains(o); });
    bool opened = false;
    for (const std::string& output : node.outputs) {
      if (used.contains(output) || !read_before.contains(output)) continue;
      auto info = info_of(output, known);
      if (!info && (needed || opened)) continue;
      if (!info) {
        sizes.push_back(size_of(output));
        info = onnx::ValueInfo{sizes.back().outputs[0], onnx::from_dtype(DType::kI64), std::vector<onnx::Dim>()};
      }
      graph.outputs.push_back(std::move(*info));
      opened = true;
    }
  }
  graph.nodes.insert(graph.nodes.end(), sizes.begin(), sizes.end());
}

/// Without inputs, initialisers and functions that nobody needs.
std::optional<onnx::Model> tidy(onnx::Model model) {
  onnx::Graph& graph = model.graph;
  Names used = reads_of_all(graph);
  for (const auto& output : graph.outputs) used.insert(output.name);
  std::erase_if(graph.inputs, [&](const auto& input) { return !used.contains(input.name); });
  onnx::Model out = remove_dead_code(std::move(model)).model;
  if (out.graph.nodes.empty() || out.graph.outputs.empty()) return std::nullopt;
  return out;
}

std::vector<onnx::Node> some_of(const std::vector<onnx::Node>& nodes, const Kept& kept) {
  std::vector<onnx::Node> out;
  for (const std::size_t i : kept) out.push_back(nodes[i]);
  return out;
}

}  // namespace

std::optional<onnx::Model> keep_nodes(const onnx::Model& from, const Kept& kept, const Known& known) {
  onnx::Model out = from;
  Names read_before = reads_of_all(from.graph);
  for (const auto& output : from.graph.outputs) read_before.insert(output.name);
  out.graph.nodes = some_of(from.graph.nodes, kept);
  const Names made = made_by(out.graph.nodes), reads = reads_of_all(out.graph);
  std::erase_if(out.graph.outputs, [&](const auto& output) { return !made.contains(output.name); });
  for (const std::string& name : made_by(from.graph.nodes))
    if (reads.contains(name) && !made.contains(name) && !add_source(out, name, known)) return std::nullopt;
  open_outputs(out.graph, read_before, known);
  return tidy(std::move(out));
}

std::optional<onnx::Model> keep_outputs(const onnx::Model& from, const Kept& kept) {
  onnx::Model out = from;
  out.graph.outputs.clear();
  for (const std::size_t i : kept) out.graph.outputs.push_back(from.graph.outputs[i]);
  out = remove_dead_code(std::move(out)).model;  // before tidy(), which keeps the inputs of what is still there
  return tidy(std::move(out));
}

std::optional<onnx::Model> open_constant(const onnx::Model& from, const std::string& name, const Known& known) {
  auto info = info_of(name, known);
  if (!info) return std::nullopt;
  onnx::Model out = from;
  std::erase_if(out.graph.initializers, [&](const auto& tensor) { return tensor.name == name; });
  std::erase_if(out.graph.inputs, [&](const auto& input) { return input.name == name; });
  out.graph.inputs.push_back(std::move(*info));
  return out;
}

std::uint64_t count_nodes(const onnx::Model& model) {
  const std::function<std::uint64_t(const std::vector<onnx::Node>&)> count = [&](const std::vector<onnx::Node>& nodes) {
    std::uint64_t out = nodes.size();
    for (const onnx::Node& node : nodes)
      for (const auto& attribute : node.attributes)
        for (const auto& graph : attribute.graphs) out += count(graph->nodes);
    return out;
  };
  std::uint64_t out = count(model.graph.nodes);
  for (const auto& function : model.functions) out += count(function.nodes);
  return out;
}

}  // namespace calkit::passes
