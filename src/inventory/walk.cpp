#include "walk.h"

#include <fmt/format.h>

#include <utility>

#include "cost.h"

namespace calkit::inventory {
namespace {

constexpr int kMaxDepth = 64;  // of calls; deeper bodies are counted, but their shapes are not followed
constexpr std::uint64_t kMaxRepeated = 200'000;  // functions that call each other can stand for endless many nodes

}  // namespace

std::string op_key(const onnx::Node& node) {
  return fmt::format("{}:{}", node.domain.empty() ? "ai.onnx" : node.domain, node.op_type);
}

std::string value_text(const onnx::ValueInfo& value) {
  if (value.type == 0) return "?";
  std::string out = onnx::element_type_name(value.type);
  if (!value.shape) return out + "[...]";
  std::string dims;
  for (const onnx::Dim& dim : *value.shape) dims += (dims.empty() ? "" : ", ") + dim.text();
  return out + "[" + dims + "]";
}

std::optional<Dims> dims_of(const onnx::ValueInfo& value) {
  if (!value.shape) return std::nullopt;
  Dims out;
  for (const onnx::Dim& dim : *value.shape) {
    const auto* symbol = std::get_if<std::string>(&dim.value);
    const auto* number = std::get_if<std::int64_t>(&dim.value);
    out.push_back(symbol ? Formula::parse(*symbol) : number ? Formula(*number) : Formula::unknown());
  }
  return out;
}

Fact* Walk::Scope::find(std::string_view name) {
  for (Scope* scope = this; scope; scope = scope->outer)
    if (const auto found = scope->values.find(name); found != scope->values.end()) return &found->second;
  return nullptr;
}

void Walk::run() {
  for (const onnx::ValueInfo& input : out_.inputs)
    for (const Formula& extent : dims_of(input).value_or(Dims{}))
      for (const std::string& symbol : extent.symbols()) roots_.insert(symbol);
  for (const onnx::Function& body : model_.functions)
    functions_.try_emplace(fmt::format("{}:{}", body.domain, body.name), Body{.function = &body});
  graph(model_.graph, nullptr, "main");
  spending_ = false;
  for (const onnx::Function& body : model_.functions) {
    Body& known = functions_.at(fmt::format("{}:{}", body.domain, body.name));
    if (known.calls == 0) function(known, nullptr, nullptr);
  }
  finish();
}

void Walk::graph(const onnx::Graph& graph, Scope* outer, const std::string& path) {
  Scope scope{outer, {}};
  for (const onnx::ValueInfo& value : graph.inputs) {
    Fact& fact = scope.values[value.name];
    fact.producer = "(input)";
    fact.origin = outer ? Origin::kComputed : Origin::kFed;
  }
  weights(graph, scope, path);
  for (const onnx::Node& node : graph.nodes)
    for (const std::string& output : node.outputs)
      if (!output.empty()) scope.values[output].producer = op_key(node);
  stated_shapes(graph, scope);
  nodes(graph.nodes, scope, path);
  if (!counting_) return;
  for (const onnx::ValueInfo& value : graph.outputs) consume(value.name, "(output)", scope);
  if (!outer) {
    layer(graph, scope);
    for (const onnx::ValueInfo& value : graph.outputs)
      if (const Fact* fact = scope.find(value.name)) out_.output_bytes += bytes_of(fact->type, fact->dims);
  }
  close(scope, path);
}

void Walk::weights(const onnx::Graph& graph, Scope& scope, const std::string& path) {
  for (const onnx::Initializer& tensor : graph.initializers) {
    Fact& fact = scope.values[tensor.name];
    fact.producer = "(initializer)";
    fact.origin = Origin::kConstant;
    fact.weight = &tensor;
    fact.type = tensor.type;
    fact.dims.emplace(tensor.dims.begin(), tensor.dims.end());
    onnx::ValueInfo info{tensor.name, tensor.type, std::vector<onnx::Dim>{}};
    for (const std::int64_t extent : tensor.dims) info.shape->push_back(onnx::Dim::of(extent));
    fact.text = value_text(info);
    if (tensor.data && tensor.data->elements() <= kMaxContent) fact.content = content_of_tensor(*tensor.data);
    if (counting_) weight(tensor, path);
  }
}

void Walk::stated_shapes(const onnx::Graph& graph, Scope& scope) {
  for (const auto* list : {&graph.value_info, &graph.inputs, &graph.outputs})
    for (const onnx::ValueInfo& value : *list) {
      const auto found = scope.values.find(value.name);
      if (found == scope.values.end() || value.type == 0) continue;
      found->second.text = value_text(value);
      found->second.type = value.type;
      found->second.dims = dims_of(value);
    }
}

/// The body that a node calls; nullptr: it calls none, or one that cannot be followed here.
Walk::Body* Walk::body_of(const onnx::Node& node) {
  if (functions_.empty()) return nullptr;
  const auto found = functions_.find(fmt::format("{}:{}", node.domain, node.op_type));
  return found == functions_.end() ? nullptr : &found->second;
}

void Walk::function(Body& body, const onnx::Node* call, Scope* caller) {
  const onnx::Function& function = *body.function;
  if (body.open || depth_ == kMaxDepth) return;
  if (body.calls++ > 0 && (repeated_ += function.nodes.size()) > kMaxRepeated) return;
  const std::string key = fmt::format("{}:{}", function.domain, function.name);
  if (call) ++out_.function_calls[key];
  const bool counting = std::exchange(counting_, counting_ && body.calls == 1);
  const onnx::Node* outer_call = std::exchange(call_, call);
  body.open = true;
  ++depth_;
  Scope scope;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    Fact& fact = scope.values[function.inputs[i]];
    const Fact* given = call && i < call->inputs.size() && caller ? caller->find(call->inputs[i]) : nullptr;
    if (given) {
      fact = *given;
      fact.consumers = 0;
      fact.is_output = false;
      fact.weight = nullptr;
    }
    fact.producer = "(input)";
  }
  for (const onnx::Node& node : function.nodes)
    for (const std::string& output : node.outputs)
      if (!output.empty()) scope.values[output].producer = op_key(node);
  const std::string path = "function " + key;
  nodes(function.nodes, scope, path);
  for (std::size_t i = 0; call && caller && i < call->outputs.size() && i < function.outputs.size(); ++i) {
    Fact* target = call->outputs[i].empty() ? nullptr : caller->find(call->outputs[i]);
    const Fact* result = scope.find(function.outputs[i]);
    if (target && result) refine(*target, Fact(*result));
  }
  if (counting_) {
    for (const std::string& output : function.outputs) consume(output, "(output)", scope);
    close(scope, path);
  }
  --depth_;
  body.open = false;
  call_ = outer_call;
  counting_ = counting;
}

void Walk::nodes(const std::vector<onnx::Node>& list, Scope& scope, const std::string& path) {
  OpCounts counts;
  if (counting_) level(path);
  for (const onnx::Node& item : list) node(item, scope, counts);
  if (counting_) {
    OpCounts& target = level(path);
    for (const auto& [op, count] : counts) target[op] += count;
  }
  for (const onnx::Node& item : list)
    for (const onnx::Attribute& attribute : item.attributes)
      for (const auto& inner : attribute.graphs)
        graph(*inner, &scope, fmt::format("{}/{}:{}", path, item.op_type, attribute.name));
}

}  // namespace calkit::inventory
