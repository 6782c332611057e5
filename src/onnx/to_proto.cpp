#include <fmt/format.h>

#include <utility>

#include "convert.h"

namespace calkit::onnx {
namespace {

using Kind = Attribute::Kind;
using P = ::onnx::AttributeProto;

void value_to_proto(const ValueInfo& value, ::onnx::ValueInfoProto& out) {
  out.set_name(value.name);
  if (value.type == 0) return;
  auto* tensor = out.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(value.type);
  if (!value.shape) return;
  auto* shape = tensor->mutable_shape();
  for (const Dim& dim : *value.shape) {
    auto* made = shape->add_dim();
    if (const auto* number = std::get_if<std::int64_t>(&dim.value)) made->set_dim_value(*number);
    if (const auto* symbol = std::get_if<std::string>(&dim.value)) made->set_dim_param(*symbol);
  }
}

Status graph_to_proto(const Graph& graph, bool with_initializers, ::onnx::GraphProto& out);

Status attribute_to_proto(const Attribute& attribute, ::onnx::AttributeProto& out) {
  out.set_name(attribute.name);
  if (!attribute.ref.empty()) out.set_ref_attr_name(attribute.ref);
  switch (attribute.kind) {
    case Kind::kFloat:
      out.set_type(P::FLOAT);
      out.set_f(attribute.f);
      return {};
    case Kind::kInt:
      out.set_type(P::INT);
      out.set_i(attribute.i);
      return {};
    case Kind::kString:
      out.set_type(P::STRING);
      out.set_s(attribute.s);
      return {};
    case Kind::kFloats:
      out.set_type(P::FLOATS);
      out.mutable_floats()->Add(attribute.floats.begin(), attribute.floats.end());
      return {};
    case Kind::kInts:
      out.set_type(P::INTS);
      out.mutable_ints()->Add(attribute.ints.begin(), attribute.ints.end());
      return {};
    case Kind::kStrings:
      out.set_type(P::STRINGS);
      for (const std::string& item : attribute.strings) out.add_strings(item);
      return {};
    case Kind::kTensor: {
      out.set_type(P::TENSOR);
      if (!attribute.ref.empty()) return {};
      Initializer tensor;
      tensor.name = attribute.name;
      tensor.data = attribute.tensor;
      if (attribute.tensor) {
        tensor.type = from_dtype(attribute.tensor->dtype());
        tensor.dims = attribute.tensor->shape();
      }
      return write_tensor(tensor, *out.mutable_t());
    }
    case Kind::kGraph:
      out.set_type(P::GRAPH);
      if (attribute.graphs.size() != 1) break;
      return graph_to_proto(*attribute.graphs.front(), true, *out.mutable_g());
    case Kind::kGraphs:
      out.set_type(P::GRAPHS);
      for (const auto& graph : attribute.graphs) CALKIT_CHECK_OK(graph_to_proto(*graph, true, *out.add_graphs()));
      return {};
    case Kind::kOther:
      break;
  }
  return Error{ErrorKind::kInput,
               fmt::format("attribute '{}' is of a kind that calkit does not write", attribute.name)};
}

template <class List>
Status nodes_to_proto(const std::vector<Node>& nodes, List& out) {
  for (const Node& node : nodes) {
    auto* made = out.Add();
    made->set_name(node.name);
    made->set_op_type(node.op_type);
    if (!node.domain.empty()) made->set_domain(node.domain);
    for (const std::string& input : node.inputs) made->add_input(input);
    for (const std::string& output : node.outputs) made->add_output(output);
    for (const Attribute& attribute : node.attributes)
      CALKIT_CHECK_OK(attribute_to_proto(attribute, *made->add_attribute()), "writing node '" + node.name + "'");
  }
  return {};
}

Status graph_to_proto(const Graph& graph, bool with_initializers, ::onnx::GraphProto& out) {
  out.set_name(graph.name);
  for (const ValueInfo& value : graph.inputs) value_to_proto(value, *out.add_input());
  for (const ValueInfo& value : graph.outputs) value_to_proto(value, *out.add_output());
  for (const ValueInfo& value : graph.value_info) value_to_proto(value, *out.add_value_info());
  if (with_initializers)
    for (const Initializer& tensor : graph.initializers) CALKIT_CHECK_OK(write_tensor(tensor, *out.add_initializer()));
  return nodes_to_proto(graph.nodes, *out.mutable_node());
}

template <class List>
void opsets_to_proto(const std::map<std::string, std::int64_t>& opsets, List& out) {
  for (const auto& [domain, version] : opsets) {
    auto* made = out.Add();
    made->set_domain(domain);
    made->set_version(version);
  }
}

}  // namespace

Status write_tensor(const Initializer& from, ::onnx::TensorProto& to) {
  describe(from, to);
  if (!from.data)
    return Error{ErrorKind::kInput, fmt::format("tensor '{}' has no data to write", from.name),
                 "load the model with its tensors; 4-bit, 8-bit float and string tensors cannot be written"};
  to.set_raw_data(from.data->raw(), from.data->bytes());
  return {};
}

void describe(const Initializer& from, ::onnx::TensorProto& to) {
  to.set_name(from.name);
  to.set_data_type(from.type);
  to.mutable_dims()->Add(from.dims.begin(), from.dims.end());
}

Result<::onnx::ModelProto> to_proto(const Model& model) {
  ::onnx::ModelProto out;
  out.set_ir_version(model.ir_version);
  opsets_to_proto(model.opsets, *out.mutable_opset_import());
  if (!model.producer_name.empty()) out.set_producer_name(model.producer_name);
  if (!model.producer_version.empty()) out.set_producer_version(model.producer_version);
  if (!model.domain.empty()) out.set_domain(model.domain);
  if (!model.doc.empty()) out.set_doc_string(model.doc);
  for (const auto& [key, value] : model.metadata) {
    auto* made = out.add_metadata_props();
    made->set_key(key);
    made->set_value(value);
  }
  CALKIT_CHECK_OK(graph_to_proto(model.graph, false, *out.mutable_graph()));
  for (const Function& function : model.functions) {
    auto* made = out.add_functions();
    made->set_domain(function.domain);
    made->set_name(function.name);
    for (const std::string& input : function.inputs) made->add_input(input);
    for (const std::string& output : function.outputs) made->add_output(output);
    for (const std::string& name : function.attribute_names) made->add_attribute(name);
    for (const Attribute& attribute : function.attributes)
      CALKIT_CHECK_OK(attribute_to_proto(attribute, *made->add_attribute_proto()),
                      "writing function '" + function.name + "'");
    opsets_to_proto(function.opsets, *made->mutable_opset_import());
    CALKIT_CHECK_OK(nodes_to_proto(function.nodes, *made->mutable_node()), "writing function '" + function.name + "'");
  }
  return out;
}

}  // namespace calkit::onnx
