#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calkit/passes/normalize.h"
#include "names.h"

namespace calkit::passes {
namespace {

/// What a node needs first, in the order in which it reads: its inputs, then what its inner graphs take from around.
std::vector<std::string> needs(const onnx::Node& node) {
  std::vector<std::string> out;
  for (const std::string& input : node.inputs)
    if (!input.empty()) out.push_back(input);
  const auto more = [&](const auto& self, const onnx::Graph& graph) -> void {
    for (const onnx::Node& inner : graph.nodes) {
      for (const std::string& input : inner.inputs)
        if (!input.empty()) out.push_back(input);
      for (const auto& attribute : inner.attributes)
        for (const auto& nested : attribute.graphs) self(self, *nested);
    }
    for (const auto& output : graph.outputs) out.push_back(output.name);
  };
  for (const auto& attribute : node.attributes)
    for (const auto& graph : attribute.graphs) more(more, *graph);
  return out;
}

/// Indices of a graph's nodes: each output's nodes, deepest first, in the order of the outputs; then those that no
/// output needs, as they stand. A stack of its own: chains may be as long as the file.
class Walk {
 public:
  explicit Walk(const onnx::Graph& graph) : graph_(graph), state_(graph.nodes.size(), State::kNew) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      for (const std::string& output : graph.nodes[i].outputs)
        if (!output.empty()) maker_.emplace(output, i);
  }
  std::vector<std::size_t> run() {
    for (const auto& output : graph_.outputs)
      if (const auto maker = maker_.find(output.name); maker != maker_.end()) visit(maker->second);
    for (std::size_t i = 0; i < state_.size(); ++i) visit(i);
    return std::move(order_);
  }

 private:
  enum class State : std::uint8_t { kNew, kOpen, kDone };
  struct Frame {
    std::size_t node;
    std::vector<std::string> needs;
    std::size_t next = 0;
  };
  void visit(std::size_t first) {
    std::vector<Frame> stack;
    const auto open = [&](std::size_t node) {
      if (state_[node] != State::kNew) return;  // a cycle was refused when the file was read
      state_[node] = State::kOpen;
      stack.push_back({node, needs(graph_.nodes[node])});
    };
    open(first);
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next == top.needs.size()) {
        state_[top.node] = State::kDone;
        order_.push_back(top.node);
        stack.pop_back();
        continue;
      }
      const auto maker = maker_.find(top.needs[top.next++]);
      if (maker != maker_.end()) open(maker->second);
    }
  }

  const onnx::Graph& graph_;
  std::map<std::string, std::size_t> maker_;
  std::vector<State> state_;
  std::vector<std::size_t> order_;
};

std::uint64_t order_nodes(onnx::Graph& graph) {
  const auto order = Walk(graph).run();
  std::uint64_t moved = 0;
  std::vector<onnx::Node> sorted;
  for (std::size_t i = 0; i < order.size(); ++i) {
    moved += order[i] != i;
    sorted.push_back(std::move(graph.nodes[order[i]]));
  }
  graph.nodes = std::move(sorted);
  for (onnx::Node& node : graph.nodes)
    for (onnx::Graph* inner : graphs_of(node)) moved += order_nodes(*inner);
  return moved;
}

/// A node is called after the first value that it makes.
std::uint64_t name_nodes(onnx::Graph& graph) {
  std::uint64_t named = 0;
  for (onnx::Node& node : graph.nodes) {
    const auto first =
        std::find_if(node.outputs.begin(), node.outputs.end(), [](const auto& name) { return !name.empty(); });
    const std::string name = first == node.outputs.end() ? std::string() : *first;
    named += node.name != name;
    node.name = name;
    for (onnx::Graph* inner : graphs_of(node)) named += name_nodes(*inner);
  }
  return named;
}

template <class Item>
std::uint64_t sort_by(std::vector<Item>& items, const std::map<std::string, std::size_t>& place) {
  const auto before = [&](const Item& a, const Item& b) {
    const auto left = place.find(a.name), right = place.find(b.name);
    if (left == place.end() || right == place.end()) return left != place.end() && right == place.end();
    return left->second < right->second;
  };
  if (std::is_sorted(items.begin(), items.end(), before)) return 0;
  std::stable_sort(items.begin(), items.end(), before);
  return items.size();
}

}  // namespace

Outcome put_in_order(onnx::Model model) {
  Outcome out{std::move(model), {}};
  onnx::Graph& graph = out.model.graph;
  const std::uint64_t moved = order_nodes(graph), named = name_nodes(graph);
  std::map<std::string, std::size_t> used, made;
  for (const onnx::Node& node : graph.nodes) {
    for (const std::string& name : needs(node)) used.emplace(name, used.size());
    for (const std::string& name : node.outputs) made.emplace(name, made.size());
  }
  const std::uint64_t constants = sort_by(graph.initializers, used), infos = sort_by(graph.value_info, made);
  for (const auto& [what, count] : {std::pair{"nodes moved", moved},
                                    {"nodes named after what they make", named},
                                    {"initialisers put in the order of their use", constants},
                                    {"value descriptions put in order", infos}})
    if (count > 0) out.changes.push_back({what, count});
  return out;
}

}  // namespace calkit::passes
