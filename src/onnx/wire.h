#pragma once
// The protobuf wire format, as far as needed to take tensors out of a model file before protobuf parses it: a weight is
// then copied at most once, and not at all when nobody asks for it.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calkit/base/result.h"

namespace calkit::onnx {

using Bytes = std::span<const std::byte>;

struct WireField {
  std::uint32_t number = 0;
  std::uint32_t wire_type = 0;
  Bytes whole;    ///< tag included
  Bytes payload;  ///< of a length-delimited field
};

/// Walks the fields of one message.
class WireReader {
 public:
  explicit WireReader(Bytes bytes) : bytes_(bytes) {}
  /// The next field; nullopt at the end. After a damaged field failed() is true and the answer nullopt.
  std::optional<WireField> next();
  bool failed() const { return failed_; }
  std::size_t position() const { return at_; }

 private:
  std::optional<std::uint64_t> varint();
  Bytes bytes_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

/// A TensorProto: everything but its values as bytes to parse, and where the values are.
struct TensorSlices {
  std::string header;  ///< the fields that hold no values
  Bytes whole;
  Bytes raw;
  bool has_raw = false;
};
/// A ModelProto taken apart.
struct ModelSlices {
  std::string model;  ///< without the graph
  std::string graph;  ///< without its initialisers
  bool has_graph = false;
  std::vector<TensorSlices> initializers;
};
/// kInput for a damaged wire format and for more fields than any real model has.
Result<ModelSlices> slice_model(Bytes file, const std::string& name);

}  // namespace calkit::onnx
