#pragma once
/// Sets of element types: what an operator accepts, and what its own code computes in.
#include <cstdint>
#include <optional>
#include <string>

#include "calkit/tensor/tensor.h"

namespace calkit::exec {

using Types = std::uint32_t;  ///< a bit for each DType
constexpr Types type_bit(DType dtype) {
  return Types{1} << static_cast<unsigned>(dtype);
}
constexpr bool has_type(Types set, DType dtype) {
  return (set & type_bit(dtype)) != 0;
}

constexpr Types kTypeF32 = type_bit(DType::kF32), kTypeF64 = type_bit(DType::kF64), kTypeF16 = type_bit(DType::kF16),
                kTypeBF16 = type_bit(DType::kBF16), kTypeBool = type_bit(DType::kBool), kTypeI8 = type_bit(DType::kI8),
                kTypeU8 = type_bit(DType::kU8), kTypeI32 = type_bit(DType::kI32), kTypeI64 = type_bit(DType::kI64),
                kTypeU64 = type_bit(DType::kU64);
constexpr Types kLinearTypes = kTypeF32 | kTypeBF16;
constexpr Types kFloat16Types = kLinearTypes | kTypeF16;  ///< floats but F64
constexpr Types kFloatTypes = kFloat16Types | kTypeF64;
constexpr Types kNarrowIntegers =
    kTypeI8 | kTypeU8 | type_bit(DType::kI16) | type_bit(DType::kU16) | type_bit(DType::kU32);
constexpr Types kIntegers = kNarrowIntegers | kTypeI32 | kTypeI64 | kTypeU64;
constexpr Types kNumbers = kFloatTypes | kIntegers;
constexpr Types kAllTypes = kNumbers | kTypeBool;

/// "f32, bf16", in the order of the enumeration.
std::string types_text(Types types);

/// The type that computes for one that an operator's own code does not have: F16 and BF16 in F32, integers of up to 32
/// bits in I64; none for the others.
std::optional<DType> wider_type(DType dtype);
Result<Tensor> widened(const Tensor& x);
/// Rounds to nearest even (floats) or wraps (integers) into `y`, which has as many elements.
Status narrow_into(const Tensor& wide, Tensor& y);

/// Calls visit(T{}) with the C++ type of an element; BF16 and F16 are not among them.
template <class Visit>
auto visit_integer(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::kI8:
      return visit(std::int8_t{});
    case DType::kU8:
    case DType::kBool:
      return visit(std::uint8_t{});
    case DType::kI16:
      return visit(std::int16_t{});
    case DType::kU16:
      return visit(std::uint16_t{});
    case DType::kI32:
      return visit(std::int32_t{});
    case DType::kU32:
      return visit(std::uint32_t{});
    case DType::kU64:
      return visit(std::uint64_t{});
    default:
      return visit(std::int64_t{});
  }
}

/// Calls visit(T{}) with an unsigned type as wide as the element: for operators that only move bytes.
template <class Visit>
auto visit_width(DType dtype, const Visit& visit) {
  switch (dtype_bytes(dtype)) {
    case 1:
      return visit(std::uint8_t{});
    case 2:
      return visit(std::uint16_t{});
    case 4:
      return visit(std::uint32_t{});
    default:
      return visit(std::uint64_t{});
  }
}

}  // namespace calkit::exec
