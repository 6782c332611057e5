#include "calkit/exec/functions.h"

#include <fmt/format.h>

#include <map>

#include "call.h"
#include "fused_functions.h"

namespace calkit::exec {
namespace {

constexpr std::size_t kMaxNodes = 1'000'000;
constexpr int kMaxDepth = 64;

using Names = std::map<std::string, std::string>;

// The names of one call: the function's inputs and outputs are the caller's values, all others get a prefix.
struct Scope {
  std::string prefix;
  Names known;
  const onnx::Node* call = nullptr;
  const onnx::Function* function = nullptr;

  std::string rename(const std::string& name) const {
    if (name.empty()) return name;
    const auto found = known.find(name);
    return found == known.end() ? prefix + name : found->second;
  }
};

const onnx::Attribute* find(const std::vector<onnx::Attribute>& attributes, const std::string& name) {
  for (const auto& attribute : attributes)
    if (attribute.name == name) return &attribute;
  return nullptr;
}

class Inliner {
 public:
  Inliner(const onnx::Model& model, bool all) {
    for (const auto& function : model.functions)
      if (all || !has_fused_kernel(function))
        functions_[{function.domain == "ai.onnx" ? "" : function.domain, function.name}] = &function;
  }

  Status graph(onnx::Graph& graph, int depth) {
    std::vector<onnx::Node> out;
    for (onnx::Node& node : graph.nodes) CALKIT_CHECK_OK(add(std::move(node), out, depth));
    graph.nodes = std::move(out);
    return {};
  }

 private:
  Status add(onnx::Node node, std::vector<onnx::Node>& out, int depth) {
    if (depth > kMaxDepth)
      return input_error("graph", node_label(node), fmt::format("functions in functions, {} deep", depth),
                         fmt::format("at most {}", kMaxDepth), "does a function call itself?");
    const auto found = functions_.find({node.domain, node.op_type});
    if (found != functions_.end()) return expand(node, *found->second, out, depth);
    if (++nodes_ > kMaxNodes)
      return input_error("graph", node_label(node), "more nodes after functions were put in place",
                         fmt::format("at most {}", kMaxNodes));
    for (auto& attribute : node.attributes)
      for (auto& inner : attribute.graphs) {
        inner = std::make_shared<onnx::Graph>(*inner);  // others may hold it, too
        CALKIT_CHECK_OK(graph(*inner, depth + 1));
      }
    out.push_back(std::move(node));
    return {};
  }

  Status expand(const onnx::Node& call, const onnx::Function& function, std::vector<onnx::Node>& out, int depth) {
    if (call.inputs.size() > function.inputs.size() || call.outputs.size() > function.outputs.size())
      return input_error("graph", node_label(call),
                         fmt::format("{} inputs and {} outputs", call.inputs.size(), call.outputs.size()),
                         fmt::format("at most {} and {}", function.inputs.size(), function.outputs.size()));
    Scope scope{fmt::format("{}#{}/", call.name.empty() ? call.op_type : call.name, ++calls_), {}, &call, &function};
    for (std::size_t i = 0; i < function.inputs.size(); ++i)
      scope.known[function.inputs[i]] = i < call.inputs.size() ? call.inputs[i] : "";
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
      const std::string& name = function.outputs[i];
      if (call.outputs[i].empty()) continue;
      if (scope.known.emplace(name, call.outputs[i]).second) continue;
      onnx::Node same;  // an output that is an input
      same.op_type = "Identity";
      same.inputs = {scope.known[name]};
      same.outputs = {call.outputs[i]};
      out.push_back(std::move(same));
    }
    for (const onnx::Node& node : function.nodes) {
      onnx::Node made = node;
      CALKIT_CHECK_OK(rename(made, scope));
      CALKIT_CHECK_OK(add(std::move(made), out, depth + 1));
    }
    return {};
  }

  Status rename(onnx::Node& node, const Scope& scope) {
    if (!node.name.empty()) node.name = scope.prefix + node.name;
    for (auto* names : {&node.inputs, &node.outputs})
      for (std::string& name : *names) name = scope.rename(name);
    std::vector<onnx::Attribute> attributes;
    for (onnx::Attribute& attribute : node.attributes) {
      if (!attribute.ref.empty()) {
        const auto* given = find(scope.call->attributes, attribute.ref);
        if (given == nullptr) given = find(scope.function->attributes, attribute.ref);
        if (given == nullptr) continue;  // the operator's own default
        const std::string name = attribute.name;
        attribute = *given;
        attribute.name = name;
        attributes.push_back(std::move(attribute));
        continue;
      }
      for (auto& inner : attribute.graphs) {
        inner = std::make_shared<onnx::Graph>(*inner);
        CALKIT_CHECK_OK(rename(*inner, scope));
      }
      attributes.push_back(std::move(attribute));
    }
    node.attributes = std::move(attributes);
    return {};
  }

  Status rename(onnx::Graph& graph, const Scope& scope) {
    for (auto* values : {&graph.inputs, &graph.outputs, &graph.value_info})
      for (auto& value : *values) value.name = scope.rename(value.name);
    for (auto& initializer : graph.initializers) initializer.name = scope.rename(initializer.name);
    for (auto& node : graph.nodes) CALKIT_CHECK_OK(rename(node, scope));
    return {};
  }

  std::map<std::pair<std::string, std::string>, const onnx::Function*> functions_;
  std::size_t nodes_ = 0, calls_ = 0;
};

}  // namespace

Status inline_functions(onnx::Model& model, bool all) {
  if (model.functions.empty()) return {};
  Inliner inliner(model, all);
  CALKIT_CHECK_OK(inliner.graph(model.graph, 0));
  for (const auto& function : model.functions)
    for (const auto& [domain, version] : function.opsets) model.opsets.emplace(domain, version);
  model.functions.clear();
  return {};
}

}  // namespace calkit::exec
