#pragma once
/// What the operators of a foreign domain mean: manifests/operators/*.yaml, schema calkit.custom-operators/1
/// (docs/formats/custom-operators.md).
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calkit/base/result.h"
#include "calkit/base/value.h"

namespace calkit::manifest {

struct CustomOperand {
  std::string name;
  std::vector<std::string> types;                 ///< ONNX's names, one or more
  std::optional<std::vector<std::string>> shape;  ///< numbers and symbols; nullopt: any
};

struct CustomOperator {
  std::string name;                            ///< "domain:type"
  std::string semantics;                       ///< never empty
  std::vector<CustomOperand> inputs, outputs;  ///< a node has as many
  bool broadcasts = false;                     ///< as numpy does; false: equal symbols are equal extents
  double nmse = 0, max_abs = 0;                ///< how far a kernel may be from what is meant
  std::string bound_reason;
  std::string status, source;  ///< C0 to C4; who says so
  std::string body;            ///< ONNX file beside the document with a function of that name; may be empty
};

struct CustomOperators {
  std::filesystem::path file;
  std::string domain;
  std::int64_t version = 0;  ///< of the domain
  std::vector<CustomOperator> operators;
};
/// kInput: schema, unknown keys, an operator or operand that is given twice, unknown element types, a body outside the
/// document's folder, empty texts.
Result<CustomOperators> read_custom_operators(const std::filesystem::path& path);

/// Of that name, in the first document that has it; nullptr: none has.
struct Description {
  const CustomOperators* document = nullptr;
  const CustomOperator* op = nullptr;
};
Description described(const std::vector<CustomOperators>& documents, const std::string& name);

/// One description, as records carry it.
Value to_value(const Description& description);

}  // namespace calkit::manifest
