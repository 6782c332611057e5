// Graphs inside nodes, made smaller.
#include <algorithm>
#include <set>

#include "cut.h"
#include "names.h"

namespace calkit::passes {
namespace {

void collect(const std::vector<onnx::Node>& nodes, Place& at, std::vector<Place>& out) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::size_t graph = 0;
    for (const auto& attribute : nodes[i].attributes)
      for (const auto& inner : attribute.graphs) {
        at.emplace_back(i, graph++);
        out.push_back(at);
        collect(inner->nodes, at, out);
        at.pop_back();
      }
  }
}

/// A copy of the graph that may be written to: other models share those that are there.
onnx::Graph& own(onnx::Model& model, const Place& place) {
  onnx::Graph* graph = &model.graph;
  for (const auto& [node, index] : place) graph = graphs_of(graph->nodes[node])[index];
  return *graph;
}

}  // namespace

std::vector<Place> inner_places(const onnx::Model& model) {
  std::vector<Place> out;
  Place at;
  collect(model.graph.nodes, at, out);
  return out;
}

std::size_t inner_nodes(const onnx::Model& model, const Place& place) {
  onnx::Model copy = model;
  return own(copy, place).nodes.size();
}

std::optional<onnx::Model> keep_inner_nodes(const onnx::Model& from, const Place& place, const Kept& kept,
                                            const Known& known) {
  onnx::Model out = from;
  onnx::Graph& graph = own(out, place);
  std::set<std::string> lost, reads;
  std::vector<onnx::Node> nodes;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (std::binary_search(kept.begin(), kept.end(), i))
      nodes.push_back(graph.nodes[i]);
    else
      lost.insert(graph.nodes[i].outputs.begin(), graph.nodes[i].outputs.end());
  }
  graph.nodes = std::move(nodes);
  for (const onnx::Node& node : graph.nodes) add_reads(node, reads);
  for (const auto& output : graph.outputs) reads.insert(output.name);
  std::erase_if(graph.value_info, [&](const auto& value) { return lost.contains(value.name); });
  for (const std::string& name : lost) {
    if (name.empty() || !reads.contains(name)) continue;
    const auto type = known.types.find(name);
    if (type == known.types.end() || type->second.type == 0 || !type->second.shape) return std::nullopt;
    out.graph.inputs.push_back(type->second);
  }
  return out;
}

std::optional<onnx::Model> take_branch(const onnx::Model& from, std::size_t index, const std::string& branch) {
  const onnx::Node& node = from.graph.nodes[index];
  const onnx::Attribute* attribute = node.attribute(branch);
  if (node.op_type != "If" || !node.domain.empty() || attribute == nullptr || attribute->graphs.size() != 1 ||
      attribute->graphs[0]->outputs.size() != node.outputs.size())
    return std::nullopt;
  const onnx::Graph& inner = *attribute->graphs[0];
  onnx::Model out = from;
  auto& nodes = out.graph.nodes;
  std::vector<onnx::Node> made = inner.nodes;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    onnx::Node same;
    same.op_type = "Identity";
    same.inputs = {inner.outputs[i].name};
    same.outputs = {node.outputs[i]};
    made.push_back(std::move(same));
  }
  const auto at = nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(index));
  nodes.insert(at, made.begin(), made.end());
  auto& initializers = out.graph.initializers;
  initializers.insert(initializers.end(), inner.initializers.begin(), inner.initializers.end());
  return out;
}

}  // namespace calkit::passes
