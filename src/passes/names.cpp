#include "names.h"

namespace calkit::passes {

void add_reads(const onnx::Node& node, std::set<std::string>& names) {
  for (const std::string& input : node.inputs)
    if (!input.empty()) names.insert(input);
  for (const onnx::Attribute& attribute : node.attributes)
    for (const auto& graph : attribute.graphs) {
      for (const onnx::Node& inner : graph->nodes) add_reads(inner, names);
      for (const auto& output : graph->outputs) names.insert(output.name);
    }
}

std::set<std::string> reads_of(const onnx::Node& node) {
  std::set<std::string> out;
  add_reads(node, out);
  return out;
}

std::vector<onnx::Graph*> graphs_of(onnx::Node& node) {
  std::vector<onnx::Graph*> out;
  for (onnx::Attribute& attribute : node.attributes)
    for (auto& graph : attribute.graphs) {
      graph = std::make_shared<onnx::Graph>(*graph);  // another model may share it
      out.push_back(graph.get());
    }
  return out;
}

void rename_reads(onnx::Graph& graph, const std::map<std::string, std::string>& names) {
  if (names.empty()) return;
  for (onnx::Node& node : graph.nodes) {
    for (std::string& input : node.inputs)
      if (const auto found = names.find(input); found != names.end()) input = found->second;
    for (onnx::Graph* inner : graphs_of(node)) rename_reads(*inner, names);
  }
}

}  // namespace calkit::passes
