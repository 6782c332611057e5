#include "calkit/onnx/model.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace calkit::onnx {
namespace {

struct TypeRow {
  ElementType type;
  const char* name;
  unsigned bits;  // of one element in raw_data; 0: no fixed size
  std::optional<DType> dtype;
};
constexpr std::array kTypes = {
    TypeRow{0, "UNDEFINED", 0, std::nullopt},
    TypeRow{1, "FLOAT", 32, DType::kF32},
    TypeRow{2, "UINT8", 8, DType::kU8},
    TypeRow{3, "INT8", 8, DType::kI8},
    TypeRow{4, "UINT16", 16, DType::kU16},
    TypeRow{5, "INT16", 16, DType::kI16},
    TypeRow{6, "INT32", 32, DType::kI32},
    TypeRow{7, "INT64", 64, DType::kI64},
    TypeRow{8, "STRING", 0, std::nullopt},
    TypeRow{9, "BOOL", 8, DType::kBool},
    TypeRow{10, "FLOAT16", 16, DType::kF16},
    TypeRow{11, "DOUBLE", 64, DType::kF64},
    TypeRow{12, "UINT32", 32, DType::kU32},
    TypeRow{13, "UINT64", 64, DType::kU64},
    TypeRow{14, "COMPLEX64", 64, std::nullopt},
    TypeRow{15, "COMPLEX128", 128, std::nullopt},
    TypeRow{16, "BFLOAT16", 16, DType::kBF16},
    TypeRow{17, "FLOAT8E4M3FN", 8, std::nullopt},
    TypeRow{18, "FLOAT8E4M3FNUZ", 8, std::nullopt},
    TypeRow{19, "FLOAT8E5M2", 8, std::nullopt},
    TypeRow{20, "FLOAT8E5M2FNUZ", 8, std::nullopt},
    TypeRow{21, "UINT4", 4, std::nullopt},
    TypeRow{22, "INT4", 4, std::nullopt},
    TypeRow{23, "FLOAT4E2M1", 4, std::nullopt},
    TypeRow{24, "FLOAT8E8M0", 8, std::nullopt},
    TypeRow{25, "UINT2", 2, std::nullopt},
    TypeRow{26, "INT2", 2, std::nullopt},
};

const TypeRow* row_of(ElementType type) {
  if (type < 0 || static_cast<std::size_t>(type) >= kTypes.size()) return nullptr;
  return &kTypes[static_cast<std::size_t>(type)];
}

Attribute named(std::string name, Attribute::Kind kind) {
  Attribute out;
  out.name = std::move(name);
  out.kind = kind;
  return out;
}

}  // namespace

std::string element_type_name(ElementType type) {
  const TypeRow* row = row_of(type);
  return row ? row->name : fmt::format("TYPE_{}", type);
}

std::optional<DType> to_dtype(ElementType type) {
  const TypeRow* row = row_of(type);
  return row ? row->dtype : std::nullopt;
}

ElementType from_dtype(DType dtype) {
  for (const TypeRow& row : kTypes)
    if (row.dtype == dtype) return row.type;
  return 0;
}

std::uint64_t packed_bytes(ElementType type, std::uint64_t elements) {
  const TypeRow* row = row_of(type);
  if (!row || row->bits == 0) return 0;
  if (row->bits >= 8) return elements * (row->bits / 8);
  const std::uint64_t per_byte = 8 / row->bits;
  return elements / per_byte + (elements % per_byte != 0);
}

std::string Dim::text() const {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *number);
  if (const auto* symbol = std::get_if<std::string>(&value)) return *symbol;
  return "?";
}

const Attribute* Node::attribute(std::string_view key) const {
  for (const Attribute& attribute : attributes)
    if (attribute.name == key) return &attribute;
  return nullptr;
}

std::int64_t Node::int_or(std::string_view key, std::int64_t otherwise) const {
  const Attribute* found = attribute(key);
  return found && found->kind == Attribute::Kind::kInt ? found->i : otherwise;
}

float Node::float_or(std::string_view key, float otherwise) const {
  const Attribute* found = attribute(key);
  return found && found->kind == Attribute::Kind::kFloat ? found->f : otherwise;
}

const Initializer* Graph::initializer(std::string_view value) const {
  for (const Initializer& candidate : initializers)
    if (candidate.name == value) return &candidate;
  return nullptr;
}

Attribute attr(std::string name, std::int64_t value) {
  Attribute out = named(std::move(name), Attribute::Kind::kInt);
  out.i = value;
  return out;
}

Attribute attr(std::string name, float value) {
  Attribute out = named(std::move(name), Attribute::Kind::kFloat);
  out.f = value;
  return out;
}

Attribute attr(std::string name, std::string value) {
  Attribute out = named(std::move(name), Attribute::Kind::kString);
  out.s = std::move(value);
  return out;
}

Attribute attr(std::string name, std::vector<std::int64_t> value) {
  Attribute out = named(std::move(name), Attribute::Kind::kInts);
  out.ints = std::move(value);
  return out;
}

Node make_node(std::string op_type, std::vector<std::string> inputs, std::vector<std::string> outputs,
               std::vector<Attribute> attributes, std::string domain) {
  Node out;
  out.name = outputs.empty() ? "" : outputs.front();
  out.op_type = std::move(op_type);
  out.domain = std::move(domain);
  out.inputs = std::move(inputs);
  out.outputs = std::move(outputs);
  out.attributes = std::move(attributes);
  return out;
}

Initializer make_initializer(std::string name, Tensor value) {
  Initializer out;
  out.name = std::move(name);
  out.type = from_dtype(value.dtype());
  out.dims = value.shape();
  out.bytes = value.bytes();
  out.data = std::move(value);
  return out;
}

}  // namespace calkit::onnx
