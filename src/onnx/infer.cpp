#include "infer.h"

#include <onnx/shape_inference/implementation.h>

#include <unordered_map>

namespace calkit::onnx {
namespace {

using Opsets = std::unordered_map<std::string, int>;

/// Upstream's inference asserts what its checker would have refused, so each node is held against its schema first.
void verify_nodes(const google::protobuf::RepeatedPtrField<::onnx::NodeProto>& nodes, const Opsets& opsets) {
  for (const auto& node : nodes) {
    const auto version = opsets.find(node.domain() == "ai.onnx" ? "" : node.domain());
    const auto* schema = version == opsets.end()
                             ? nullptr
                             : ::onnx::OpSchemaRegistry::Schema(node.op_type(), version->second, version->first);
    if (schema) schema->Verify(node);
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) verify_nodes(attribute.g().node(), opsets);
      for (const auto& graph : attribute.graphs()) verify_nodes(graph.node(), opsets);
    }
  }
}

template <class Imports>
Opsets opset_versions(const Imports& imports) {
  Opsets out;
  for (const auto& import : imports)
    out[import.domain() == "ai.onnx" ? "" : import.domain()] = static_cast<int>(import.version());
  return out;
}

}  // namespace

std::string infer(::onnx::ModelProto& proto) {
  try {
    verify_nodes(proto.graph().node(), opset_versions(proto.opset_import()));
    for (const auto& function : proto.functions())
      verify_nodes(function.node(), opset_versions(function.opset_import()));
    const ::onnx::ShapeInferenceOptions options(/*check_type_val=*/false, /*strict_mode_val=*/0,
                                                /*data_prop_val=*/true);
    ::onnx::shape_inference::InferShapes(proto, ::onnx::OpSchemaRegistry::Instance(), options);
    return "";
  } catch (const std::exception& problem) {
    const std::string text = problem.what();
    return text.substr(0, text.find('\n'));  // the rest prints the node
  }
}

void collect_symbols(const Graph& graph, std::set<std::string>& out) {
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.value_info})
    for (const ValueInfo& value : *list)
      for (const Dim& dim : value.shape.value_or(std::vector<Dim>{}))
        if (const auto* symbol = std::get_if<std::string>(&dim.value)) out.insert(*symbol);
  for (const Node& node : graph.nodes)
    for (const Attribute& attribute : node.attributes)
      for (const auto& inner : attribute.graphs) collect_symbols(*inner, out);
}

void forget_new_symbols(Graph& graph, const std::set<std::string>& known) {
  for (auto* list : {&graph.inputs, &graph.outputs, &graph.value_info})
    for (ValueInfo& value : *list) {
      if (!value.shape) continue;
      for (Dim& dim : *value.shape)
        if (const auto* symbol = std::get_if<std::string>(&dim.value); symbol && !known.contains(*symbol)) dim = Dim{};
    }
  for (Node& node : graph.nodes)
    for (Attribute& attribute : node.attributes)
      for (const auto& inner : attribute.graphs) forget_new_symbols(*inner, known);
}

void add_initializer(const Initializer& tensor, ::onnx::GraphProto& graph) {
  auto* made = graph.add_initializer();
  describe(tensor, *made);
  if (tensor.data && tensor.data->bytes() <= 1024) made->set_raw_data(tensor.data->raw(), tensor.data->bytes());
}

Result<Model> infer_shapes(const Model& model) {
  Model out = model;
  for (Initializer& tensor : out.graph.initializers) tensor.data.reset();
  CALKIT_TRY(::onnx::ModelProto proto, to_proto(out));
  for (const Initializer& tensor : model.graph.initializers) add_initializer(tensor, *proto.mutable_graph());
  if (const std::string note = infer(proto); !note.empty())
    return Error{ErrorKind::kInput, "shape inference failed: " + note};
  out.graph.initializers = model.graph.initializers;
  out.graph.value_info = values_from_proto(proto.graph().value_info());
  std::set<std::string> symbols;
  collect_symbols(model.graph, symbols);
  forget_new_symbols(out.graph, symbols);
  return out;
}

}  // namespace calkit::onnx
