#pragma once
/// Reading, writing, checking and shape inference of ONNX files; the only users of ONNX's own library and of protobuf.
#include <filesystem>
#include <functional>

#include "calkit/onnx/model.h"

namespace calkit::onnx {

struct LoadOptions {
  bool tensor_data = true;    ///< false: initialisers carry type, dims and byte counts only
  bool external_data = true;  ///< map external files (root-confined to the model's folder) and check their ranges
};
/// kInput for: not an ONNX protobuf, truncated, nodes out of order or cyclic (naming them), external data that escapes
/// the folder, is missing, out of range or shorter than its shape (naming tensor, location, reason).
Result<Model> load(const std::filesystem::path& path, const LoadOptions& options = {});

/// Writes MODEL.onnx; initialisers of at least `external_from` bytes go to `external_name` beside it, 4096-byte
/// aligned, streamed tensor by tensor (source pages are let go). Written to temporary names in `path`'s folder.
struct SaveOptions {
  std::uint64_t external_from = 1024;
  std::string external_name;  ///< "weights.bin"; empty: everything inside
  /// Called after each external tensor has been written.
  std::function<void(const Initializer&)> written;
};
Status save(const Model& model, const std::filesystem::path& path, const SaveOptions& options);

/// ONNX's own checker on a file (so that external data is found), with full shape inference when `full`.
Status check_file(const std::filesystem::path& path, bool full);

/// Fills value_info through ONNX's own shape inference. Weights' data is not needed.
Result<Model> infer_shapes(const Model& model);

}  // namespace calkit::onnx
