#include <fmt/format.h>

#include <utility>

#include "calkit/base/text.h"
#include "convert.h"

namespace calkit::onnx {
namespace {

using Kind = Attribute::Kind;

ValueInfo value_from_proto(const ::onnx::ValueInfoProto& value) {
  ValueInfo out;
  out.name = value.name();
  if (!value.has_type() || !value.type().has_tensor_type()) return out;
  const auto& tensor = value.type().tensor_type();
  out.type = tensor.elem_type();
  if (!tensor.has_shape()) return out;
  out.shape.emplace();
  for (const auto& dim : tensor.shape().dim()) {
    // A negative number is how some exporters write "unknown".
    if (dim.has_dim_value() && dim.dim_value() >= 0)
      out.shape->push_back(Dim::of(dim.dim_value()));
    else if (dim.has_dim_param() && !dim.dim_param().empty())
      out.shape->push_back(Dim::symbol(dim.dim_param()));
    else
      out.shape->push_back(Dim{});
  }
  return out;
}

std::map<std::string, std::int64_t> opsets_from_proto(
    const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>& imports) {
  std::map<std::string, std::int64_t> out;
  for (const auto& import : imports) out[import.domain() == "ai.onnx" ? "" : import.domain()] = import.version();
  return out;
}

class Converter {
 public:
  explicit Converter(const TensorReader& tensors) : tensors_(tensors) {}

  Result<Graph> graph(const ::onnx::GraphProto& proto) {
    Graph out;
    CALKIT_CHECK_OK(text(proto.name(), "a graph"));
    out.name = proto.name();
    CALKIT_TRY(out.nodes, nodes(proto.node()));
    out.inputs = values_from_proto(proto.input());
    out.outputs = values_from_proto(proto.output());
    out.value_info = values_from_proto(proto.value_info());
    for (const auto* list : {&out.inputs, &out.outputs, &out.value_info})
      for (const ValueInfo& value : *list) CALKIT_CHECK_OK(value_text(value));
    for (const auto& tensor : proto.initializer()) {
      CALKIT_CHECK_OK(text(tensor.name(), "an initialiser"));
      CALKIT_TRY(Initializer made, tensors_.read(tensor));
      out.initializers.push_back(std::move(made));
    }
    for (const auto& sparse : proto.sparse_initializer()) {
      CALKIT_CHECK_OK(text(sparse.values().name(), "an initialiser"));
      out.initializers.push_back(sparse_initializer(sparse));
    }
    return out;
  }

  Result<Function> function(const ::onnx::FunctionProto& proto) {
    Function out;
    for (const auto* name : {&proto.domain(), &proto.name()}) CALKIT_CHECK_OK(text(*name, "a function"));
    out.domain = proto.domain();
    out.name = proto.name();
    CALKIT_TRY(out.inputs, strings(proto.input(), "a function"));
    CALKIT_TRY(out.outputs, strings(proto.output(), "a function"));
    CALKIT_TRY(out.attribute_names, strings(proto.attribute(), "a function's attribute"));
    for (const auto& proto_attribute : proto.attribute_proto()) {
      CALKIT_TRY(Attribute made, attribute(proto_attribute));
      out.attributes.push_back(std::move(made));
    }
    CALKIT_TRY(out.nodes, nodes(proto.node()));
    for (const auto& import : proto.opset_import()) CALKIT_CHECK_OK(text(import.domain(), "an operator set"));
    out.opsets = opsets_from_proto(proto.opset_import());
    return out;
  }

 private:
  Status text(const std::string& value, std::string_view owner) const {
    return require_utf8(value, owner, tensors_.file);
  }

  Status value_text(const ValueInfo& value) const {
    CALKIT_CHECK_OK(text(value.name, "a value"));
    for (const Dim& dim : value.shape.value_or(std::vector<Dim>{}))
      if (const auto* symbol = std::get_if<std::string>(&dim.value)) CALKIT_CHECK_OK(text(*symbol, "an axis"));
    return {};
  }

  Result<std::vector<std::string>> strings(const google::protobuf::RepeatedPtrField<std::string>& list,
                                           std::string_view owner) const {
    std::vector<std::string> out(list.begin(), list.end());
    for (const std::string& item : out) CALKIT_CHECK_OK(text(item, owner));
    return out;
  }

  Result<std::vector<Node>> nodes(const google::protobuf::RepeatedPtrField<::onnx::NodeProto>& list) {
    std::vector<Node> out;
    out.reserve(static_cast<std::size_t>(list.size()));
    for (const auto& proto : list) {
      CALKIT_TRY(Node made, node(proto));
      out.push_back(std::move(made));
    }
    return out;
  }

  Result<Node> node(const ::onnx::NodeProto& proto) {
    Node out;
    for (const auto* name : {&proto.name(), &proto.op_type(), &proto.domain()}) CALKIT_CHECK_OK(text(*name, "a node"));
    out.name = proto.name();
    out.op_type = proto.op_type();
    out.domain = proto.domain() == "ai.onnx" ? "" : proto.domain();
    CALKIT_TRY(out.inputs, strings(proto.input(), "a node's input"));
    CALKIT_TRY(out.outputs, strings(proto.output(), "a node's output"));
    for (const auto& attribute : proto.attribute()) {
      CALKIT_TRY(Attribute made, this->attribute(attribute),
                 fmt::format("reading attribute '{}' of node '{}'", attribute.name(), proto.name()));
      out.attributes.push_back(std::move(made));
    }
    return out;
  }

  Result<Attribute> attribute(const ::onnx::AttributeProto& proto) {
    Attribute out;
    for (const auto* name : {&proto.name(), &proto.ref_attr_name()}) CALKIT_CHECK_OK(text(*name, "an attribute"));
    out.name = proto.name();
    out.ref = proto.ref_attr_name();
    out.kind = kind_of(proto);
    out.f = proto.f();
    out.i = proto.i();
    out.s = proto.s();
    out.floats.assign(proto.floats().begin(), proto.floats().end());
    out.ints.assign(proto.ints().begin(), proto.ints().end());
    out.strings.assign(proto.strings().begin(), proto.strings().end());
    if (proto.has_t()) {
      CALKIT_TRY(Initializer tensor, tensors_.read(proto.t()));
      out.tensor = std::move(tensor.data);
    }
    if (proto.has_g()) CALKIT_CHECK_OK(subgraph(proto.g(), out));
    for (const auto& inner : proto.graphs()) CALKIT_CHECK_OK(subgraph(inner, out));
    return out;
  }

  Status subgraph(const ::onnx::GraphProto& proto, Attribute& out) {
    CALKIT_TRY(Graph made, graph(proto));
    out.graphs.push_back(std::make_shared<Graph>(std::move(made)));
    return {};
  }

  // Files older than IR 3 state no type; the field that is set tells it.
  static Kind kind_of(const ::onnx::AttributeProto& proto) {
    using P = ::onnx::AttributeProto;
    switch (proto.type()) {
      case P::FLOAT:
        return Kind::kFloat;
      case P::INT:
        return Kind::kInt;
      case P::STRING:
        return Kind::kString;
      case P::TENSOR:
        return Kind::kTensor;
      case P::GRAPH:
        return Kind::kGraph;
      case P::FLOATS:
        return Kind::kFloats;
      case P::INTS:
        return Kind::kInts;
      case P::STRINGS:
        return Kind::kStrings;
      case P::GRAPHS:
        return Kind::kGraphs;
      case P::UNDEFINED:
        return proto.has_f()              ? Kind::kFloat
               : proto.has_i()            ? Kind::kInt
               : proto.has_s()            ? Kind::kString
               : proto.has_t()            ? Kind::kTensor
               : proto.has_g()            ? Kind::kGraph
               : proto.floats_size() > 0  ? Kind::kFloats
               : proto.ints_size() > 0    ? Kind::kInts
               : proto.strings_size() > 0 ? Kind::kStrings
               : proto.graphs_size() > 0  ? Kind::kGraphs
                                          : Kind::kOther;
      default:
        return Kind::kOther;
    }
  }

  static Initializer sparse_initializer(const ::onnx::SparseTensorProto& sparse) {
    Initializer out;
    out.name = sparse.values().name();
    out.type = sparse.values().data_type();
    out.dims.assign(sparse.dims().begin(), sparse.dims().end());
    out.bytes = sparse.values().ByteSizeLong() + sparse.indices().ByteSizeLong();
    return out;
  }

  const TensorReader& tensors_;
};

}  // namespace

Status require_utf8(const std::string& name, std::string_view owner, const std::string& file) {
  const std::size_t bad = invalid_utf8_at(name);
  if (bad == std::string::npos) return {};
  return input_error(file, "", fmt::format("the name of {} with a bad byte at {}", owner, bad), "UTF-8 text");
}

std::vector<ValueInfo> values_from_proto(const google::protobuf::RepeatedPtrField<::onnx::ValueInfoProto>& values) {
  std::vector<ValueInfo> out;
  out.reserve(static_cast<std::size_t>(values.size()));
  for (const auto& value : values) out.push_back(value_from_proto(value));
  return out;
}

Result<Model> from_proto(const ::onnx::ModelProto& proto, const TensorReader& tensors) {
  Model out;
  out.ir_version = proto.ir_version();
  for (const auto& import : proto.opset_import())
    CALKIT_CHECK_OK(require_utf8(import.domain(), "an operator set", tensors.file));
  out.opsets = opsets_from_proto(proto.opset_import());
  const std::pair<const std::string&, std::string&> texts[] = {{proto.producer_name(), out.producer_name},
                                                               {proto.producer_version(), out.producer_version},
                                                               {proto.domain(), out.domain},
                                                               {proto.doc_string(), out.doc}};
  for (const auto& [from, to] : texts)
    if (invalid_utf8_at(from) == std::string::npos) to = from;
  for (const auto& entry : proto.metadata_props()) out.metadata[entry.key()] = entry.value();
  Converter converter(tensors);
  CALKIT_TRY(out.graph, converter.graph(proto.graph()));
  for (const auto& function : proto.functions()) {
    CALKIT_TRY(Function made, converter.function(function));
    out.functions.push_back(std::move(made));
  }
  return out;
}

}  // namespace calkit::onnx
