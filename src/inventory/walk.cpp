#include "walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace calkit::inventory {
namespace {

constexpr std::size_t kLargest = 10, kNamed = 5;

void remember(std::vector<std::string>& names, std::string_view name) {
  if (names.size() < kNamed) names.emplace_back(name);
}

std::string joined(const std::vector<std::string>& names, std::uint64_t total) {
  std::string out;
  for (const std::string& name : names) out += fmt::format("{}'{}'", out.empty() ? "" : ", ", name);
  return total > names.size() ? out + fmt::format(" and {} more", total - names.size()) : out;
}

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

Walk::Known* Walk::Scope::find(std::string_view name) {
  for (Scope* scope = this; scope; scope = scope->outer)
    if (const auto found = scope->values.find(name); found != scope->values.end()) return &found->second;
  return nullptr;
}

void Walk::run() {
  graph(model_.graph, nullptr, "main");
  for (const onnx::Function& body : model_.functions) function(body);
  finish();
}

void Walk::graph(const onnx::Graph& graph, Scope* outer, const std::string& path) {
  Scope scope{outer, {}};
  for (const onnx::ValueInfo& value : graph.inputs) scope.values[value.name].producer = "(input)";
  for (const onnx::Initializer& tensor : graph.initializers) {
    Known& known = scope.values[tensor.name];
    known.producer = "(initializer)";
    known.weight = &tensor;
    onnx::ValueInfo info{tensor.name, tensor.type, std::vector<onnx::Dim>{}};
    for (const std::int64_t extent : tensor.dims) info.shape->push_back(onnx::Dim::of(extent));
    known.text = value_text(info);
    known.type = onnx::element_type_name(tensor.type);
    known.has_shape = true;
    weight(tensor, path);
  }
  for (const onnx::Node& node : graph.nodes)
    for (const std::string& output : node.outputs)
      if (!output.empty()) scope.values[output].producer = op_key(node);
  for (const auto* list : {&graph.value_info, &graph.inputs, &graph.outputs})
    for (const onnx::ValueInfo& value : *list) {
      const auto found = scope.values.find(value.name);
      if (found == scope.values.end() || value.type == 0) continue;
      found->second.text = value_text(value);
      found->second.type = onnx::element_type_name(value.type);
      found->second.has_shape = value.shape.has_value();
    }
  nodes(graph.nodes, scope, path);
  for (const onnx::ValueInfo& value : graph.outputs) consume(value.name, "(output)", scope);
  close(scope, path);
}

void Walk::function(const onnx::Function& function) {
  Scope scope;
  for (const std::string& input : function.inputs) scope.values[input].producer = "(input)";
  for (const onnx::Node& node : function.nodes)
    for (const std::string& output : node.outputs)
      if (!output.empty()) scope.values[output].producer = op_key(node);
  const std::string path = fmt::format("function {}:{}", function.domain, function.name);
  nodes(function.nodes, scope, path);
  for (const std::string& output : function.outputs) consume(output, "(output)", scope);
  close(scope, path);
}

void Walk::nodes(const std::vector<onnx::Node>& list, Scope& scope, const std::string& path) {
  OpCounts counts;
  for (const onnx::Node& item : list) node(item, scope, counts);
  OpCounts& target = level(path);
  for (const auto& [op, count] : counts) target[op] += count;
  for (const onnx::Node& item : list)
    for (const onnx::Attribute& attribute : item.attributes)
      for (const auto& inner : attribute.graphs)
        graph(*inner, &scope, fmt::format("{}/{}:{}", path, item.op_type, attribute.name));
}

void Walk::node(const onnx::Node& node, Scope& scope, OpCounts& counts) {
  const std::string op = op_key(node);
  ++counts[op];
  ++out_.op_counts[op];
  ++out_.nodes;
  Family family{op, {}, {}, 1, node.name};
  std::string key = op;
  const auto describe = [&](const std::string& name, std::vector<std::string>& list) {
    const Known* known = name.empty() ? nullptr : scope.find(name);
    list.push_back(name.empty() ? "-" : known ? known->text : "?");
    key += "\n" + list.back();
  };
  for (const std::string& input : node.inputs) {
    describe(input, family.inputs);
    if (!input.empty()) consume(input, op, scope);
  }
  key += "\n>";
  for (const std::string& output : node.outputs) describe(output, family.outputs);
  const auto [place, added] = families_.try_emplace(key, std::move(family));
  if (!added) ++place->second.count;
  for (const onnx::Attribute& attribute : node.attributes) {
    if (!attribute.tensor) continue;
    ++out_.constants.count;
    out_.constants.bytes += attribute.tensor->bytes();
  }
}

void Walk::consume(std::string_view name, const std::string& consumer, Scope& scope) {
  Known* known = scope.find(name);
  if (!known) return;  // the structure check has told about it
  if (consumer == "(output)")
    known->is_output = true;
  else
    ++known->consumers;
  ++out_.edges[{known->producer, consumer}];
  // A weight that three nodes of one operator read is three edges, but its bytes count once.
  if (!known->weight || consumer == "(output)" || !known->readers.insert(consumer).second) return;
  Sum& sum = out_.weights_by_consumer[consumer];
  ++sum.count;
  sum.bytes += known->weight->bytes;
}

void Walk::close(Scope& scope, const std::string& path) {
  std::vector<std::string_view> unused;
  for (const auto& [name, known] : scope.values) {
    ++out_.values;
    ++out_.value_types[known.type];
    ++out_.consumers[known.consumers];
    if (!known.has_shape) ++out_.values_without_shape;
    if (known.consumers == 0 && !known.is_output) unused.push_back(name);
  }
  std::sort(unused.begin(), unused.end());
  for (const std::string_view name : unused) {
    const bool is_weight = scope.values.at(name).weight != nullptr;
    if (is_weight) ++unused_weight_count_;
    if (!is_weight) ++out_.values_unused;
    remember(is_weight ? unused_weights_ : unused_values_, path == "main" ? name : fmt::format("{}: {}", path, name));
  }
}

void Walk::weight(const onnx::Initializer& tensor, const std::string& path) {
  const auto add = [&](Sum& sum) {
    ++sum.count;
    sum.bytes += tensor.bytes;
  };
  add(out_.weights);
  add(out_.weights_by_type[onnx::element_type_name(tensor.type)]);
  if (!tensor.location.empty()) add(out_.external_files[tensor.location]);
  const auto larger = [](const Weight& a, const Weight& b) { return a.bytes > b.bytes; };
  if (out_.largest.size() == kLargest && tensor.bytes <= out_.largest.back().bytes) return;
  Weight made{tensor.name, onnx::element_type_name(tensor.type), path, tensor.dims, tensor.bytes, tensor.location};
  out_.largest.insert(std::upper_bound(out_.largest.begin(), out_.largest.end(), made, larger), std::move(made));
  if (out_.largest.size() > kLargest) out_.largest.pop_back();
}

OpCounts& Walk::level(const std::string& path) {
  const auto [place, added] = level_index_.try_emplace(path, out_.levels.size());
  if (added) out_.levels.push_back({path, {}});
  return out_.levels[place->second].op_counts;
}

void Walk::finish() {
  for (auto& [key, family] : families_) out_.families.push_back(std::move(family));
  std::stable_sort(out_.families.begin(), out_.families.end(),
                   [](const Family& a, const Family& b) { return a.op != b.op ? a.op < b.op : a.count > b.count; });
  const auto note = [&](std::string text) { out_.findings.push_back({Finding::Severity::kNote, std::move(text)}); };
  if (out_.values_unused > 0)
    note(fmt::format("values that nothing reads ({}): {}", out_.values_unused,
                     joined(unused_values_, out_.values_unused)));
  if (unused_weight_count_ > 0)
    note(fmt::format("initialisers that nothing reads ({}): {}", unused_weight_count_,
                     joined(unused_weights_, unused_weight_count_)));
}

}  // namespace calkit::inventory
