#pragma once
/// Arithmetic on numbers that came from a file. nullopt means overflow; nothing wraps silently.
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace calkit {

template <class T>
constexpr std::optional<T> checked_add(T a, T b) {
  T out{};
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}

template <class T>
constexpr std::optional<T> checked_mul(T a, T b) {
  T out{};
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

/// The smallest multiple of `alignment` (a power of two) that is >= value.
constexpr std::optional<std::uint64_t> checked_align_up(std::uint64_t value, std::uint64_t alignment) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) return std::nullopt;
  const auto sum = checked_add(value, alignment - 1);
  if (!sum) return std::nullopt;
  return *sum & ~(alignment - 1);
}

/// The product of all extents times `unit`; 0 is allowed, a negative extent is not.
inline std::optional<std::uint64_t> checked_product(std::span<const std::int64_t> extents, std::uint64_t unit = 1) {
  std::uint64_t total = unit;
  for (const std::int64_t extent : extents) {
    if (extent < 0) return std::nullopt;
    const auto next = checked_mul(total, static_cast<std::uint64_t>(extent));
    if (!next) return std::nullopt;
    total = *next;
  }
  return total;
}

/// True when [offset, offset + length) lies inside [0, size).
constexpr bool range_inside(std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
  return offset <= size && length <= size - offset;
}

}  // namespace calkit
