#pragma once
/// Small text helpers: UTF-8 validity, hex, sizes with units.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace calkit {

/// The byte offset of the first invalid UTF-8 sequence (overlong forms and surrogates included), or npos.
std::size_t invalid_utf8_at(std::string_view text);
/// The text as a message may show it: control characters and bytes that are no UTF-8 as \xNN, cut after about `most`
/// bytes at a whole character.
std::string printable(std::string_view text, std::size_t most = 60);
std::vector<std::string> split(std::string_view text, char separator);

std::string hex_u64(std::uint64_t value);                      ///< "0x1000", lower case
std::optional<std::uint64_t> parse_hex_u64(std::string_view);  ///< "0x..." only, lower or upper case digits
std::optional<std::uint64_t> parse_decimal_u64(std::string_view);

/// "3.750 GiB", "303872 B": powers of 1024.
std::string format_bytes(std::uint64_t bytes);

/// A size with its unit: "16 GiB", "304 kB", "17 B". KiB/MiB/GiB/TiB are powers of 1024, kB/MB/GB/TB powers of 1000.
struct Quantity {
  std::optional<std::uint64_t> bytes;
  std::string problem;  ///< why there are no bytes: "no unit", "unknown unit 'Go'", "not a number", "too large"
};
Quantity parse_quantity(std::string_view text);

}  // namespace calkit
