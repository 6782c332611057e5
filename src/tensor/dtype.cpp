#include "calkit/tensor/dtype.h"

#include <array>

namespace calkit {
namespace {

struct Row {
  DType dtype;
  std::size_t bytes;
  std::string_view name;
  std::string_view safetensors;
};

// In the order of the enumeration.
constexpr std::array<Row, 13> kRows = {{{DType::kF32, 4, "f32", "F32"},
                                        {DType::kF64, 8, "f64", "F64"},
                                        {DType::kF16, 2, "f16", "F16"},
                                        {DType::kBF16, 2, "bf16", "BF16"},
                                        {DType::kI8, 1, "i8", "I8"},
                                        {DType::kU8, 1, "u8", "U8"},
                                        {DType::kI16, 2, "i16", "I16"},
                                        {DType::kU16, 2, "u16", "U16"},
                                        {DType::kI32, 4, "i32", "I32"},
                                        {DType::kU32, 4, "u32", "U32"},
                                        {DType::kI64, 8, "i64", "I64"},
                                        {DType::kU64, 8, "u64", "U64"},
                                        {DType::kBool, 1, "bool", "BOOL"}}};

const Row& row(DType dtype) {
  return kRows[static_cast<std::size_t>(dtype)];
}

}  // namespace

std::size_t dtype_bytes(DType dtype) {
  return row(dtype).bytes;
}
std::string_view dtype_name(DType dtype) {
  return row(dtype).name;
}
std::string_view safetensors_name(DType dtype) {
  return row(dtype).safetensors;
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const Row& r : kRows)
    if (r.name == name) return r.dtype;
  return std::nullopt;
}

std::optional<DType> dtype_from_safetensors(std::string_view name) {
  for (const Row& r : kRows)
    if (r.safetensors == name) return r.dtype;
  return std::nullopt;
}

float f16_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0) {  // zero and subnormals: mantissa * 2^-24 is exact in f32
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

std::uint16_t float_to_f16(float f) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(f);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)  // NaN stays NaN, its top payload bits are kept
    return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65520 and above round to infinity
  if (magnitude >= 0x38800000u) {                                                   // 2^-14: normal numbers
    const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return static_cast<std::uint16_t>(sign | ((rounded >> 13) - (112u << 10)));
  }
  // Subnormals: adding 0.5 places the 2^-24 unit at the last bit of an f32, which rounds to nearest even.
  const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
  return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
}

}  // namespace calkit
