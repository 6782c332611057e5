#pragma once
// Between ONNX's messages and calkit's plain structs.
#include <onnx/onnx-data.pb.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/base/files.h"
#include "calkit/onnx/io.h"
#include "wire.h"

namespace calkit::onnx {

/// Opens external data below the model's folder, each file once.
class ExternalFiles {
 public:
  explicit ExternalFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}
  Result<std::shared_ptr<const MappedFile>> map(const std::string& location);

 private:
  std::filesystem::path folder_;
  std::optional<Root> root_;
  std::map<std::string, std::shared_ptr<const MappedFile>> maps_;
};

/// How tensors are read, and where problems go.
struct TensorReader {
  std::string file;  ///< named in messages
  LoadOptions options;
  ExternalFiles* external = nullptr;
  std::vector<std::string>* problems = nullptr;  ///< set: faults of tensors are told here and do not stop

  /// @param header the message, whose values may have been left out;  @param raw its raw_data, if it has any
  /// @param whole the message with its values: called when they are in a typed field and wanted.
  Result<Initializer> read(const ::onnx::TensorProto& header, std::optional<Bytes> raw,
                           const std::function<std::optional<::onnx::TensorProto>()>& whole) const;
  Result<Initializer> read(const ::onnx::TensorProto& tensor) const;

 private:
  /// That a tensor whose values calkit does not read has as many as its shape says.
  Status enough_values(const ::onnx::TensorProto& message, const Initializer& out, std::uint64_t elements) const;
  Status inside(Initializer& out, std::optional<Bytes> raw,
                const std::function<std::optional<::onnx::TensorProto>()>& whole) const;
  Status outside(Initializer& out, const ::onnx::TensorProto& header) const;
};

/// kInput for a name that no document could carry.
Status require_utf8(const std::string& name, std::string_view owner, const std::string& file);

/// The model without its main-graph initialisers. kInput for names that are no UTF-8 and for damaged inner tensors.
Result<Model> from_proto(const ::onnx::ModelProto& proto, const TensorReader& tensors);
/// value_info, inputs and outputs only.
std::vector<ValueInfo> values_from_proto(const google::protobuf::RepeatedPtrField<::onnx::ValueInfoProto>& values);

/// The whole model but its main-graph initialisers. kInput for what Model cannot carry (attributes of kind kOther).
Result<::onnx::ModelProto> to_proto(const Model& model);
/// With its values. kInput if it has none.
Status write_tensor(const Initializer& from, ::onnx::TensorProto& to);
/// Name, type and dims.
void describe(const Initializer& from, ::onnx::TensorProto& to);

}  // namespace calkit::onnx
