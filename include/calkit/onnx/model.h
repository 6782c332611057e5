#pragma once
/// An ONNX model as plain C++: what the rest of calkit sees instead of protobuf messages.
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "calkit/base/result.h"
#include "calkit/tensor/tensor.h"

namespace calkit::onnx {

/// TensorProto.DataType numbers are kept as they are (1 FLOAT, 7 INT64, 10 FLOAT16, 16 BFLOAT16, ...).
using ElementType = std::int32_t;
std::string element_type_name(ElementType type);  ///< "FLOAT", "BFLOAT16", ... or "TYPE_99"
std::optional<DType> to_dtype(ElementType type);
ElementType from_dtype(DType dtype);
std::uint64_t packed_bytes(ElementType type, std::uint64_t elements);  ///< 4-bit types are rounded up; 0 for strings

/// A number, a symbol, or unknown.
struct Dim {
  std::variant<std::monostate, std::int64_t, std::string> value;
  static Dim of(std::int64_t n) { return {n}; }
  static Dim symbol(std::string s) { return {std::move(s)}; }
  std::string text() const;  ///< "17", "B", "?"
};

struct ValueInfo {
  std::string name;
  ElementType type = 0;                   ///< 0: not stated or not a tensor
  std::optional<std::vector<Dim>> shape;  ///< nullopt: rank unknown
};

/// A part of an initialiser with a name of its own.
struct Piece {
  std::string name;
  Tensor data;
};

struct Initializer {
  std::string name;
  ElementType type = 0;
  std::vector<std::int64_t> dims;
  /// Values of calkit's dtypes: owned, or mapped from external data. Absent when the type has no DType or data was not
  /// asked for.
  std::optional<Tensor> data;
  /// Instead of data: its parts along the first axis, [dims[1], ...] each, as checkpoints keep the experts of a layer.
  std::vector<Piece> pieces;
  std::uint64_t bytes = 0;
  std::string location;                  ///< external data file, relative; empty: inside the model file
  std::uint64_t offset = 0, length = 0;  ///< of the external data
};

struct Graph;
struct Attribute {
  enum class Kind { kFloat, kInt, kString, kTensor, kGraph, kFloats, kInts, kStrings, kGraphs, kOther };
  std::string name;
  Kind kind = Kind::kOther;
  float f = 0;
  std::int64_t i = 0;
  std::string s;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string> strings;
  std::optional<Tensor> tensor;
  std::vector<std::shared_ptr<Graph>> graphs;
  std::string ref;  ///< attribute of the enclosing function
};

struct Node {
  std::string name, op_type, domain;         ///< domain "" is ai.onnx
  std::vector<std::string> inputs, outputs;  ///< "" is an absent optional
  std::vector<Attribute> attributes;

  const Attribute* attribute(std::string_view key) const;
  std::int64_t int_or(std::string_view key, std::int64_t otherwise) const;
  float float_or(std::string_view key, float otherwise) const;
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<ValueInfo> inputs, outputs, value_info;
  std::vector<Initializer> initializers;

  const Initializer* initializer(std::string_view value) const;  ///< linear; index it for loops
};

struct Function {
  std::string domain, name;
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> attribute_names;  ///< those that a call has to give
  std::vector<Attribute> attributes;         ///< those that have a default, with it
  std::vector<Node> nodes;
  std::map<std::string, std::int64_t> opsets;
};

struct Model {
  std::int64_t ir_version = 0;
  std::map<std::string, std::int64_t> opsets;  ///< domain -> version; "" is ai.onnx
  std::string producer_name, producer_version, domain, doc;
  std::map<std::string, std::string> metadata;
  Graph graph;
  std::vector<Function> functions;
};

/// Helpers that builders use.
Attribute attr(std::string name, std::int64_t value);
Attribute attr(std::string name, float value);
Attribute attr(std::string name, std::string value);
Attribute attr(std::string name, std::vector<std::int64_t> value);
/// Named after its first output.
Node make_node(std::string op_type, std::vector<std::string> inputs, std::vector<std::string> outputs,
               std::vector<Attribute> attributes = {}, std::string domain = "");
Initializer make_initializer(std::string name, Tensor value);

}  // namespace calkit::onnx
