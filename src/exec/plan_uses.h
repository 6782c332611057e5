#pragma once
// What the rewrites of plan.h ask of a graph; private to the module.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/onnx/model.h"

namespace calkit::exec {

/// Who makes and who reads each value of a graph, while nodes of it are being replaced.
class Uses {
 public:
  explicit Uses(onnx::Graph& graph) : graph_(graph), gone_(graph.nodes.size(), false) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const auto& name : graph.nodes[i].outputs) maker_[name] = i;
      count_reads(graph.nodes[i]);
    }
    for (const auto& output : graph.outputs) ++reads_[output.name];
    for (const auto& initializer : graph.initializers) constants_[initializer.name] = &initializer;
  }

  /// The node that makes a value, if it is of that kind and still there; else nullptr.
  onnx::Node* made_by(const std::string& value, std::string_view op_type, std::string_view domain = "") {
    const auto found = maker_.find(value);
    if (found == maker_.end() || gone_[found->second]) return nullptr;
    onnx::Node& node = graph_.nodes[found->second];
    return node.op_type == op_type && node.domain == domain ? &node : nullptr;
  }
  int reads(const std::string& value) const {
    const auto found = reads_.find(value);
    return found == reads_.end() ? 0 : found->second;
  }
  const onnx::Initializer* constant(const std::string& name) const {
    const auto found = constants_.find(name);
    return found == constants_.end() ? nullptr : found->second;
  }
  void drop(const onnx::Node& node) { gone_[static_cast<std::size_t>(&node - graph_.nodes.data())] = true; }
  void finish() {
    std::size_t at = 0;
    std::erase_if(graph_.nodes, [&](const onnx::Node&) { return gone_[at++]; });
  }

 private:
  // Graphs inside a node read values of the graph around them.
  void count_reads(const onnx::Node& node) {
    for (const auto& name : node.inputs) ++reads_[name];
    for (const auto& attribute : node.attributes)
      for (const auto& inner : attribute.graphs) {
        for (const auto& each : inner->nodes) count_reads(each);
        for (const auto& output : inner->outputs) ++reads_[output.name];
      }
  }

  onnx::Graph& graph_;
  std::vector<bool> gone_;
  std::map<std::string, std::size_t> maker_;
  std::map<std::string, int> reads_;
  std::map<std::string, const onnx::Initializer*> constants_;
};

inline bool is_plain(const onnx::Node& node, std::string_view op_type, std::size_t inputs) {
  return node.op_type == op_type && node.domain.empty() && node.inputs.size() == inputs && node.outputs.size() == 1;
}

}  // namespace calkit::exec
