#pragma once
/// The parts of the ZIP format (APPNOTE 6.3) that .npz needs: stored members, with ZIP64 where 32 bits are too few.
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace calkit::zip {

static_assert(std::endian::native == std::endian::little, "npz files are read and written in place, little-endian");

constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50;
constexpr std::size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocatorBytes = 20;
constexpr std::uint32_t kMax32 = 0xffffffffu;
constexpr std::uint16_t kMax16 = 0xffffu;
constexpr std::uint16_t kZip64Extra = 1;
constexpr std::uint16_t kUtf8Flag = 1u << 11;
constexpr std::uint16_t kDate1980 = (1u << 5) | 1u;  // 1980-01-01, ZIP's zero

template <class T>
void put(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof bytes);
}

/// The caller has checked that `at + sizeof(T)` lies inside.
template <class T>
T get(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace calkit::zip
