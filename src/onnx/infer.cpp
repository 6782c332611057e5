#include "infer.h"

#include <fmt/format.h>
#include <onnx/shape_inference/implementation.h>

#include <unordered_map>

#include "calkit/base/text.h"

namespace calkit::onnx {
namespace {

using Opsets = std::unordered_map<std::string, int>;

constexpr std::size_t kMaxProblems = 50;

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));  // the rest prints the node
}

/// Upstream's inference asserts what its checker would have refused, so each node is held against its schema first.
void verify_nodes(const google::protobuf::RepeatedPtrField<::onnx::NodeProto>& nodes, const Opsets& opsets,
                  std::vector<std::string>& problems) {
  for (const auto& node : nodes) {
    const auto version = opsets.find(node.domain() == "ai.onnx" ? "" : node.domain());
    const auto* schema = version == opsets.end()
                             ? nullptr
                             : ::onnx::OpSchemaRegistry::Schema(node.op_type(), version->second, version->first);
    try {
      if (schema) schema->Verify(node);
    } catch (const std::exception& problem) {
      const std::string name = node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
      if (problems.size() < kMaxProblems)
        problems.push_back(fmt::format("{} '{}' is no valid {}: {}", name.empty() ? "a node" : "node", printable(name),
                                       printable(node.op_type()), printable(first_line(problem.what()), 300)));
    }
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) verify_nodes(attribute.g().node(), opsets, problems);
      for (const auto& graph : attribute.graphs()) verify_nodes(graph.node(), opsets, problems);
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

std::vector<std::string> faulty_nodes(const ::onnx::ModelProto& proto) {
  std::vector<std::string> out;
  verify_nodes(proto.graph().node(), opset_versions(proto.opset_import()), out);
  for (const auto& function : proto.functions())
    verify_nodes(function.node(), opset_versions(function.opset_import()), out);
  return out;
}

/// @return what it complained of, or empty
std::string run_inference(::onnx::ModelProto& proto, const ::onnx::ShapeInferenceOptions& options) {
  try {
    ::onnx::shape_inference::InferShapes(proto, ::onnx::OpSchemaRegistry::Instance(), options);
    return "";
  } catch (const std::exception& problem) {
    return problem.what();
  }
}

bool is_about_types(const std::string& text) {
  for (const char* word : {"TypeInferenceError", " inconsistent type ", " unsupported type"})
    if (text.find(word) != std::string::npos) return true;
  return false;
}

}  // namespace

Inference infer_and_judge(::onnx::ModelProto& proto) {
  Inference out;
  out.problems = faulty_nodes(proto);
  if (!out.problems.empty()) {
    out.note = "not tried on a graph with nodes that are not valid";
    return out;
  }
  // Mode 1 tells at the end what did not fit; what could be inferred is in the graph by then.
  const std::string told = run_inference(
      proto, ::onnx::ShapeInferenceOptions(/*check_type_val=*/true, /*strict_mode_val=*/1, /*data_prop_val=*/true));
  for (const std::string& line : split(told, '\n')) {
    const std::string text = printable(line, 400);
    const bool about_types = is_about_types(text);
    if (about_types && out.problems.size() < kMaxProblems) out.problems.push_back("types contradict: " + text);
    if (!about_types && out.note.empty() && text.find("InferenceError") != std::string::npos) out.note = text;
  }
  if (out.note.empty() && out.problems.empty()) out.note = printable(first_line(told), 400);
  if (!told.empty() && !told.starts_with("[ShapeInferenceError] Inference error(s)") && out.note.empty())
    out.note = infer(proto);  // the first contradiction ended it; without the judging, shapes come out all the same
  return out;
}

std::string infer(::onnx::ModelProto& proto) {
  const auto faulty = faulty_nodes(proto);
  if (!faulty.empty()) return faulty.front();
  return first_line(run_inference(
      proto, ::onnx::ShapeInferenceOptions(/*check_type_val=*/false, /*strict_mode_val=*/0, /*data_prop_val=*/true)));
}

std::vector<std::string> version_problems(const Model& model) {
  std::vector<std::string> out;
  if (model.ir_version > ::onnx::IR_VERSION)
    out.push_back(
        fmt::format("IR version {}: calkit knows 1 to {}", model.ir_version, static_cast<int>(::onnx::IR_VERSION)));
  const auto& known = ::onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  for (const auto& [domain, version] : model.opsets) {
    const auto range = known.find(domain);
    if (range != known.end() && (version < range->second.first || version > range->second.second))
      out.push_back(fmt::format("opset {} of {}: calkit knows {} to {}", version, domain.empty() ? "ai.onnx" : domain,
                                range->second.first, range->second.second));
  }
  return out;
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
