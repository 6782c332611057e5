#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "convert.h"
#include "infer.h"

namespace calkit::onnx {
namespace {

constexpr std::uint64_t kMaxFileBytes = (2ull << 30) - 1;  // protobuf's limit; larger weights are external data

template <class Message>
bool parse(const std::string& bytes, Message& out) {
  return bytes.size() <= kMaxFileBytes && out.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

struct Parsed {
  ::onnx::ModelProto proto;  ///< without main-graph initialisers
  std::vector<TensorSlices> tensors;
};

Result<Parsed> parse_model(Bytes bytes, const std::string& name) {
  if (bytes.size() > kMaxFileBytes)
    return input_error(name, "", fmt::format("{} bytes", bytes.size()), fmt::format("at most {}", kMaxFileBytes),
                       "keep weights in external data");
  CALKIT_TRY(ModelSlices slices, slice_model(bytes, name));
  if (!slices.has_graph) return input_error(name, "", "no graph", "an ONNX ModelProto with a graph");
  Parsed out;
  if (!parse(slices.model, out.proto) || !parse(slices.graph, *out.proto.mutable_graph()))
    return input_error(name, "", "damaged fields", "an ONNX ModelProto", "was the file copied completely?");
  if (out.proto.ir_version() <= 0)
    return input_error(name, "ir_version", fmt::format("{}", out.proto.ir_version()), "1 or more",
                       "is this an ONNX model?");
  out.tensors = std::move(slices.initializers);
  return out;
}

/// One main-graph initialiser: its message without values is put into `header`.
Result<Initializer> read_slices(const TensorSlices& slices, const TensorReader& reader, ::onnx::TensorProto& header) {
  if (!parse(slices.header, header)) return input_error(reader.file, "initializer", "damaged bytes", "a TensorProto");
  CALKIT_CHECK_OK(require_utf8(header.name(), "an initialiser", reader.file));
  return reader.read(header, slices.has_raw ? std::optional(slices.raw) : std::nullopt,
                     [&]() -> std::optional<::onnx::TensorProto> {
                       ::onnx::TensorProto whole;
                       if (!whole.ParseFromArray(slices.whole.data(), static_cast<int>(slices.whole.size())))
                         return std::nullopt;
                       return whole;
                     });
}

Result<Model> convert_model(const Parsed& parsed, const TensorReader& reader,
                            std::vector<::onnx::TensorProto>* headers = nullptr) {
  CALKIT_TRY(Model model, from_proto(parsed.proto, reader));
  model.graph.initializers.reserve(parsed.tensors.size() + model.graph.initializers.size());
  for (const TensorSlices& slices : parsed.tensors) {
    ::onnx::TensorProto header;
    CALKIT_TRY(Initializer made, read_slices(slices, reader, header));
    model.graph.initializers.push_back(std::move(made));
    if (headers) headers->push_back(std::move(header));
  }
  return model;
}

/// Exports of a config alone say that their weights are left out.
bool says_no_weights(const ::onnx::ModelProto& proto) {
  return std::any_of(proto.metadata_props().begin(), proto.metadata_props().end(),
                     [](const auto& entry) { return entry.key() == "calkit.weights" && entry.value() == "none"; });
}

}  // namespace

Result<Model> load_bytes(std::span<const std::byte> bytes, const std::string& name, const std::filesystem::path& folder,
                         const LoadOptions& options) {
  CALKIT_TRY(const Parsed parsed, parse_model(bytes, name));
  ExternalFiles external(folder);
  CALKIT_TRY(Model model, convert_model(parsed, TensorReader{name, options, &external, nullptr}));
  const auto problems = structure_problems(model);
  if (!problems.empty())
    return input_error(name, "", problems.front(), "nodes sorted by their inputs, each value produced once",
                       problems.size() > 1 ? fmt::format("{} more problems like it", problems.size() - 1) : "");
  return model;
}

Result<Model> load(const std::filesystem::path& path, const LoadOptions& options) {
  CALKIT_TRY(const auto file, MappedFile::open(path));
  return load_bytes(file->bytes(), path.string(), path.parent_path().empty() ? "." : path.parent_path(), options);
}

Result<Outline> load_outline(const std::filesystem::path& path) {
  CALKIT_TRY(const auto file, MappedFile::open(path));
  return load_outline_bytes(file->bytes(), path.string(), path.parent_path().empty() ? "." : path.parent_path());
}

Result<Outline> load_outline_bytes(std::span<const std::byte> bytes, const std::string& name,
                                   const std::filesystem::path& folder) {
  CALKIT_TRY(Parsed parsed, parse_model(bytes, name));
  Outline out;
  out.structure_only = says_no_weights(parsed.proto);
  ExternalFiles external(folder);
  const TensorReader reader{
      name, {.tensor_data = false, .external_data = !out.structure_only}, &external, &out.problems};
  CALKIT_TRY(out.model, convert_model(parsed, reader));
  out.inputs = out.model.graph.inputs;
  out.outputs = out.model.graph.outputs;
  const auto versions = version_problems(out.model);
  out.problems.insert(out.problems.end(), versions.begin(), versions.end());
  const auto structure = structure_problems(out.model);
  out.problems.insert(out.problems.end(), structure.begin(), structure.end());
  if (!structure.empty()) {  // upstream's inference trusts the order and follows function calls without end
    out.inference_note = "not tried on a graph whose structure is broken";
    return out;
  }
  std::set<std::string> symbols;
  collect_symbols(out.model.graph, symbols);
  auto& graph = *parsed.proto.mutable_graph();
  for (const Initializer& tensor : out.model.graph.initializers) add_initializer(tensor, graph);
  Inference inference = infer_and_judge(parsed.proto);
  out.inference_note = std::move(inference.note);
  out.problems.insert(out.problems.end(), inference.problems.begin(), inference.problems.end());
  graph.clear_initializer();
  // Converted again, for the shapes inside subgraphs; external data has been judged above.
  const TensorReader again{name, {.tensor_data = false, .external_data = false}, nullptr, nullptr};
  Parsed shapes{std::move(parsed.proto), {}};
  std::vector<Initializer> tensors = std::move(out.model.graph.initializers);
  CALKIT_TRY(out.model, convert_model(shapes, again));
  out.model.graph.initializers = std::move(tensors);
  forget_new_symbols(out.model.graph, symbols);
  return out;
}

}  // namespace calkit::onnx
