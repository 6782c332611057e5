#pragma once
/// Element types and the BF16/F16 conversions. BF16 is ours: round to nearest, ties to even; NaN stays NaN.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace calkit {

enum class DType : std::uint8_t { kF32, kF64, kF16, kBF16, kI8, kU8, kI16, kU16, kI32, kU32, kI64, kU64, kBool };

std::size_t dtype_bytes(DType dtype);
/// Our documents' spelling: "f32", "f64", "f16", "bf16", "i8", ... "bool".
std::string_view dtype_name(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);
/// safetensors' spelling: "F32", "BF16", "I64", "BOOL", ...
std::string_view safetensors_name(DType dtype);
std::optional<DType> dtype_from_safetensors(std::string_view name);

/// A BF16 number as stored.
struct BF16 {
  std::uint16_t bits = 0;
};

inline float to_float(BF16 v) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(v.bits) << 16);
}
inline BF16 to_bf16(float f) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(f);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>((bits >> 16) | 0x40u)};
  bits += 0x7fffu + ((bits >> 16) & 1u);
  return {static_cast<std::uint16_t>(bits >> 16)};
}
inline float round_bf16(float f) {
  return to_float(to_bf16(f));
}
float f16_to_float(std::uint16_t bits);
std::uint16_t float_to_f16(float f);

}  // namespace calkit
