#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/checker.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "calkit/base/checked.h"
#include "calkit/base/process.h"
#include "convert.h"

namespace calkit::onnx {
namespace {

constexpr std::size_t kPieceElements = 1u << 20;
constexpr std::uint64_t kMaxModelBytes = (2ull << 30) - 1;

Status pad_to_alignment(StagedFile& file) {
  static constexpr std::byte kZeros[kExternalAlignment] = {};
  const std::uint64_t over = file.size() % kExternalAlignment;
  if (over == 0) return {};
  return file.write(std::span(kZeros, static_cast<std::size_t>(kExternalAlignment - over)));
}

using Sink = std::function<Status(std::span<const std::byte>)>;

Status stream_as(const Tensor& data, DType dtype, const Sink& sink) {
  const std::size_t unit = dtype_bytes(data.dtype());
  for (std::size_t at = 0; at < data.elements(); at += kPieceElements) {
    if (interrupted()) return interrupted_error();
    const std::size_t count = std::min(kPieceElements, data.elements() - at);
    if (data.dtype() == dtype) {
      CALKIT_CHECK_OK(sink(std::span(data.raw() + at * unit, count * unit)));
      continue;
    }
    const Tensor piece =
        Tensor::borrow(data.dtype(), {static_cast<std::int64_t>(count)}, data.raw() + at * unit, nullptr);
    CALKIT_TRY(const Tensor converted, convert(piece, dtype));
    CALKIT_CHECK_OK(sink(std::span(converted.raw(), converted.bytes())));
  }
  return {};
}

/// Hands the bytes of a tensor, in the type that the initialiser states, to `sink` bit by bit: a widened weight never
/// exists as a whole.
Status stream(const Initializer& tensor, const Sink& sink) {
  if (!tensor.data && tensor.pieces.empty())
    return Error{ErrorKind::kInput, fmt::format("tensor '{}' has no data to write", tensor.name),
                 "load the model with its tensors; 4-bit, 8-bit float and string tensors cannot be written"};
  const auto dtype = to_dtype(tensor.type);
  if (!dtype)
    return Error{ErrorKind::kInput,
                 fmt::format("tensor '{}' is {}, which is not written", tensor.name, element_type_name(tensor.type))};
  if (tensor.data) return stream_as(*tensor.data, *dtype, sink);
  for (const Piece& piece : tensor.pieces) CALKIT_CHECK_OK(stream_as(piece.data, *dtype, sink));
  return {};
}

Result<ExternalRange> write_external(const Initializer& tensor, StagedFile& file) {
  CALKIT_CHECK_OK(pad_to_alignment(file));
  const std::uint64_t offset = file.size();
  CALKIT_CHECK_OK(stream(tensor, [&](std::span<const std::byte> bytes) { return file.write(bytes); }));
  return ExternalRange{offset, file.size() - offset};
}

Status write_inside(const Initializer& tensor, ::onnx::TensorProto& out) {
  std::string* raw = out.mutable_raw_data();
  return stream(tensor, [&](std::span<const std::byte> bytes) -> Status {
    raw->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  });
}

void refer(const std::string& location, const ExternalRange& range, ::onnx::TensorProto& out) {
  out.set_data_location(::onnx::TensorProto::EXTERNAL);
  const std::pair<const char*, std::string> entries[] = {
      {"location", location}, {"offset", fmt::format("{}", range.offset)}, {"length", fmt::format("{}", range.length)}};
  for (const auto& [key, value] : entries) {
    auto* entry = out.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
}

Status write_model(const ::onnx::ModelProto& proto, const std::filesystem::path& path) {
  if (proto.ByteSizeLong() > kMaxModelBytes)
    return Error{ErrorKind::kInput,
                 fmt::format("{}: {} bytes; at most {} fit into one ONNX file", path.string(), proto.ByteSizeLong(),
                             kMaxModelBytes),
                 "save with external data"};
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    if (!proto.SerializeToCodedStream(&coded)) return Error{ErrorKind::kInternal, "an ONNX model did not serialise"};
  }
  return write_file(path, bytes);
}

}  // namespace

Status save(const Model& model, const std::filesystem::path& path, const SaveOptions& options) {
  const bool external = !options.external_name.empty();
  const bool refers = external && options.shared && !options.shared->empty();
  CALKIT_TRY(::onnx::ModelProto proto, to_proto(model), "writing " + path.string());
  std::optional<StagedFile> weights;
  for (const Initializer& tensor : model.graph.initializers) {
    auto& made = *proto.mutable_graph()->add_initializer();
    describe(tensor, made);
    const auto placed = refers ? options.shared->find(tensor.name) : decltype(options.shared->end()){};
    if (refers && placed != options.shared->end()) {
      if (placed->second.length != tensor.bytes)
        return Error{ErrorKind::kInternal,
                     fmt::format("tensor '{}' differs between two graphs of one weights file", tensor.name)};
      refer(options.external_name, placed->second, made);
    } else if (external && !refers && tensor.bytes >= options.external_from) {
      if (!weights) {
        CALKIT_TRY(StagedFile created, StagedFile::create(path.parent_path() / options.external_name));
        weights = std::move(created);
      }
      CALKIT_TRY(const ExternalRange range, write_external(tensor, *weights), "writing tensor " + tensor.name);
      refer(options.external_name, range, made);
      if (options.shared) (*options.shared)[tensor.name] = range;
      if (options.written) options.written(tensor);
    } else {
      CALKIT_CHECK_OK(write_inside(tensor, made));
    }
  }
  if (weights) CALKIT_CHECK_OK(weights->commit());
  return write_model(proto, path);
}

Status check_file(const std::filesystem::path& path, bool full) {
  try {
    ::onnx::checker::check_model(path.string(), full);
    return {};
  } catch (const std::exception& problem) {
    return input_error(path.string(), "", problem.what(), "a model that ONNX's checker accepts");
  }
}

Status check_structure(const Model& model, const std::filesystem::path& folder) {
  Model twin = model;
  std::erase_if(twin.graph.initializers, [&](const Initializer& tensor) {
    if (tensor.data) return false;
    ValueInfo input{tensor.name, tensor.type, std::vector<Dim>()};
    for (const std::int64_t extent : tensor.dims) input.shape->push_back(Dim::of(extent));
    twin.graph.inputs.push_back(std::move(input));
    return true;
  });
  const std::filesystem::path path = folder / "check.onnx";
  Status status = save(twin, path, {});
  if (status.ok()) status = check_file(path, true);
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return status;
}

}  // namespace calkit::onnx
