#include <algorithm>

#include "pattern.h"

namespace calkit::fusion {
namespace {

void add_reads(const onnx::Node& node, std::set<std::string>& out) {
  out.insert(node.inputs.begin(), node.inputs.end());
  for (const auto& attribute : node.attributes)
    for (const auto& inner : attribute.graphs) {
      for (const auto& each : inner->nodes) add_reads(each, out);
      for (const auto& output : inner->outputs) out.insert(output.name);
    }
}

std::optional<Tensor> value_of(const onnx::Node& node) {
  if (node.op_type != "Constant" || !node.domain.empty() || node.attributes.size() != 1) return std::nullopt;
  const onnx::Attribute& value = node.attributes.front();
  if (!value.ref.empty()) return std::nullopt;
  if (value.name == "value") return value.tensor;
  const auto count = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  if (value.name == "value_int") return Tensor::of<std::int64_t>({}, {value.i});
  if (value.name == "value_ints") return Tensor::of({count(value.ints.size())}, value.ints);
  if (value.name == "value_float") return Tensor::of<float>({}, {value.f});
  if (value.name == "value_floats") return Tensor::of({count(value.floats.size())}, value.floats);
  return std::nullopt;
}

}  // namespace

View::View(const onnx::Graph& graph) : graph_(graph) {
  std::set<std::string> fed;
  for (const auto& input : graph.inputs) {
    infos_[input.name] = &input;
    fed.insert(input.name);
  }
  for (const auto& output : graph.outputs) {
    infos_[output.name] = &output;
    outputs_.insert(output.name);
  }
  for (const auto& info : graph.value_info) infos_[info.name] = &info;
  for (const auto& tensor : graph.initializers)
    if (!fed.contains(tensor.name)) initializers_[tensor.name] = &tensor;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (std::size_t output = 0; output < graph.nodes[i].outputs.size(); ++output)
      sources_[graph.nodes[i].outputs[output]] = {i, output};
    std::set<std::string> reads;
    add_reads(graph.nodes[i], reads);
    for (const std::string& name : reads) readers_[name].push_back(i);
  }
}

std::optional<View::Source> View::source(const std::string& value) const {
  const auto found = sources_.find(value);
  return found == sources_.end() ? std::nullopt : std::optional(found->second);
}

const std::vector<std::size_t>& View::readers(const std::string& value) const {
  static const std::vector<std::size_t> kNone;
  const auto found = readers_.find(value);
  return found == readers_.end() ? kNone : found->second;
}

const onnx::Initializer* View::initializer(const std::string& value) const {
  const auto found = initializers_.find(value);
  return found == initializers_.end() ? nullptr : found->second;
}

std::optional<Tensor> View::constant(const std::string& value) const {
  if (const auto* tensor = initializer(value)) return tensor->data;
  const auto made = source(value);
  return made ? value_of(graph_.nodes[made->node]) : std::nullopt;
}

std::optional<std::vector<std::int64_t>> View::constant_ints(const std::string& value) const {
  const auto tensor = constant(value);
  if (!tensor || tensor->dtype() != DType::kI64) return std::nullopt;
  const auto values = tensor->data<std::int64_t>();
  return std::vector<std::int64_t>(values.begin(), values.end());
}

onnx::ElementType View::type(const std::string& value) const {
  if (const auto* tensor = initializer(value)) return tensor->type;
  const auto found = infos_.find(value);
  return found == infos_.end() ? 0 : found->second->type;
}

std::optional<std::vector<onnx::Dim>> View::shape(const std::string& value) const {
  if (const auto* tensor = initializer(value)) {
    std::vector<onnx::Dim> out;
    for (const std::int64_t extent : tensor->dims) out.push_back(onnx::Dim::of(extent));
    return out;
  }
  const auto found = infos_.find(value);
  return found == infos_.end() ? std::nullopt : found->second->shape;
}

bool View::same_shape(const std::string& a, const std::string& b) const {
  const auto left = shape(a), right = shape(b);
  if (!left || !right || left->size() != right->size()) return false;
  return std::equal(left->begin(), left->end(), right->begin(), [](const onnx::Dim& x, const onnx::Dim& y) {
    return x.value == y.value && !std::holds_alternative<std::monostate>(x.value);
  });
}

}  // namespace calkit::fusion
