// Order, cycles and dangling values of a model, at every level.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "calkit/onnx/io.h"

namespace calkit::onnx {
namespace {

constexpr std::size_t kMaxProblems = 50;  // a broken file breaks in many places; the first ones tell why

std::string node_text(const Node& node, std::size_t index) {
  return node.name.empty() ? fmt::format("node #{} ({})", index, node.op_type) : fmt::format("node '{}'", node.name);
}

/// All values that a graph defines, and the graph around it.
struct Scope {
  const Scope* outer = nullptr;
  std::unordered_set<std::string_view> names;
  bool knows(std::string_view name) const {
    for (const Scope* scope = this; scope; scope = scope->outer)
      if (scope->names.contains(name)) return true;
    return false;
  }
};

void for_each_subgraph(const Node& node, const std::function<void(const Graph&, const std::string&)>& visit) {
  for (const Attribute& attribute : node.attributes)
    for (const auto& graph : attribute.graphs) visit(*graph, attribute.name);
}

/// Names that a node reads: its inputs, and what its subgraphs take from outside themselves.
void collect_reads(const Node& node, std::set<std::string_view>& reads) {
  for (const std::string& input : node.inputs)
    if (!input.empty()) reads.insert(input);
  for_each_subgraph(node, [&](const Graph& graph, const std::string&) {
    std::set<std::string_view> inner;
    for (const Node& child : graph.nodes) collect_reads(child, inner);
    for (const ValueInfo& value : graph.outputs) inner.insert(value.name);
    for (const Node& child : graph.nodes)
      for (const std::string& output : child.outputs) inner.erase(output);
    for (const ValueInfo& value : graph.inputs) inner.erase(value.name);
    for (const Initializer& tensor : graph.initializers) inner.erase(tensor.name);
    inner.erase("");
    reads.insert(inner.begin(), inner.end());
  });
}

/// The members of one cycle, in its order, or nothing. `needs[i]`: what i depends on.
std::vector<std::size_t> find_cycle(const std::vector<std::vector<std::size_t>>& needs) {
  std::vector<std::size_t> open(needs.size(), 0);
  std::vector<std::vector<std::size_t>> users(needs.size());
  for (std::size_t i = 0; i < needs.size(); ++i)
    for (const std::size_t need : needs[i]) {
      ++open[i];
      users[need].push_back(i);
    }
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < needs.size(); ++i)
    if (open[i] == 0) ready.push_back(i);
  while (!ready.empty()) {
    const std::size_t done = ready.back();
    ready.pop_back();
    for (const std::size_t user : users[done])
      if (--open[user] == 0) ready.push_back(user);
  }
  const auto stuck = std::find_if(open.begin(), open.end(), [](std::size_t n) { return n != 0; });
  if (stuck == open.end()) return {};
  // Whoever is stuck depends on someone stuck; following that must come back to where it has been.
  std::vector<std::size_t> path, place(needs.size(), SIZE_MAX);
  auto at = static_cast<std::size_t>(stuck - open.begin());
  while (place[at] == SIZE_MAX) {
    place[at] = path.size();
    path.push_back(at);
    at = *std::find_if(needs[at].begin(), needs[at].end(), [&](std::size_t need) { return open[need] != 0; });
  }
  std::vector<std::size_t> cycle(path.begin() + static_cast<std::ptrdiff_t>(place[at]), path.end());
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

class Checker {
 public:
  std::vector<std::string> problems;

  void graph(const Graph& graph, const Scope* outer, const std::string& where) {
    Scope scope{outer, {}};
    std::vector<std::string_view> given;
    for (const ValueInfo& value : graph.inputs) given.push_back(value.name);
    std::unordered_set<std::string_view> tensors;
    for (const Initializer& tensor : graph.initializers) {
      if (!tensors.insert(tensor.name).second) tell(where, fmt::format("two initialisers are named '{}'", tensor.name));
      given.push_back(tensor.name);  // may be an input too: its default value
    }
    nodes(graph.nodes, given, scope, where);
    for (const ValueInfo& value : graph.outputs)
      if (!scope.knows(value.name)) tell(where, fmt::format("output '{}' is produced by no node", value.name));
  }

  void function(const Function& function) {
    Scope scope;
    const std::string where = fmt::format("function {}:{}: ", function.domain, function.name);
    nodes(function.nodes, {function.inputs.begin(), function.inputs.end()}, scope, where);
    for (const std::string& output : function.outputs)
      if (!scope.knows(output)) tell(where, fmt::format("output '{}' is produced by no node", output));
  }

  void function_calls(const std::vector<Function>& functions) {
    std::map<std::pair<std::string_view, std::string_view>, std::size_t> index;
    for (std::size_t i = 0; i < functions.size(); ++i) index[{functions[i].domain, functions[i].name}] = i;
    std::vector<std::vector<std::size_t>> calls(functions.size());
    const std::function<void(const std::vector<Node>&, std::vector<std::size_t>&)> collect =
        [&](const std::vector<Node>& list, std::vector<std::size_t>& out) {
          for (const Node& node : list) {
            const auto found = index.find({node.domain, node.op_type});
            if (found != index.end()) out.push_back(found->second);
            for_each_subgraph(node, [&](const Graph& graph, const std::string&) { collect(graph.nodes, out); });
          }
        };
    for (std::size_t i = 0; i < functions.size(); ++i) collect(functions[i].nodes, calls[i]);
    std::string names;
    for (const std::size_t i : find_cycle(calls))
      names += fmt::format("{}{}:{}", names.empty() ? "" : " -> ", functions[i].domain, functions[i].name);
    if (!names.empty()) tell("", "functions call each other in a cycle: " + names);
  }

 private:
  void tell(const std::string& where, const std::string& text) {
    if (problems.size() < kMaxProblems) problems.push_back(where + text);
    if (problems.size() == kMaxProblems) problems.push_back("more problems follow and are not listed");
  }

  void nodes(const std::vector<Node>& list, const std::vector<std::string_view>& given, Scope& scope,
             const std::string& where) {
    scope.names.insert(given.begin(), given.end());
    std::unordered_map<std::string_view, std::size_t> producer;
    for (std::size_t i = 0; i < list.size(); ++i)
      for (const std::string& output : list[i].outputs) {
        if (output.empty()) continue;
        if (!scope.names.insert(output).second)
          tell(where, fmt::format("value '{}' is produced a second time by {}", output, node_text(list[i], i)));
        producer.emplace(output, i);
      }
    order(list, producer, scope, where);
    for (std::size_t i = 0; i < list.size(); ++i)
      for_each_subgraph(list[i], [&](const Graph& inner, const std::string& attribute) {
        graph(inner, &scope, fmt::format("{}{} / {}: ", where, node_text(list[i], i), attribute));
      });
  }

  void order(const std::vector<Node>& list, const std::unordered_map<std::string_view, std::size_t>& producer,
             const Scope& scope, const std::string& where) {
    std::vector<std::vector<std::size_t>> needs(list.size());
    std::vector<std::string> late;
    for (std::size_t i = 0; i < list.size(); ++i) {
      std::set<std::string_view> reads;
      collect_reads(list[i], reads);
      for (const std::string_view name : reads) {
        const auto found = producer.find(name);
        if (found == producer.end()) {
          if (!scope.knows(name))
            tell(where, fmt::format("{} reads '{}', which nothing produces", node_text(list[i], i), name));
          continue;
        }
        needs[i].push_back(found->second);
        if (found->second >= i && late.size() < kMaxProblems)
          late.push_back(fmt::format("nodes are out of order: {} reads '{}' before {} produces it",
                                     node_text(list[i], i), name, node_text(list[found->second], found->second)));
      }
    }
    if (late.empty()) return;
    std::string cycle;
    for (const std::size_t i : find_cycle(needs)) cycle += (cycle.empty() ? "" : " -> ") + node_text(list[i], i);
    if (!cycle.empty()) return tell(where, "nodes depend on each other in a cycle: " + cycle);
    for (const std::string& text : late) tell(where, text);
  }
};

}  // namespace

std::vector<std::string> structure_problems(const Model& model) {
  Checker checker;
  checker.graph(model.graph, nullptr, "");
  for (const Function& function : model.functions) checker.function(function);
  checker.function_calls(model.functions);
  return std::move(checker.problems);
}

}  // namespace calkit::onnx
