#include "calkit/base/text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>

namespace calkit {
namespace {

/// The length of the valid UTF-8 sequence at `at`, or 0.
std::size_t sequence_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned lead = byte(at);
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;  // a continuation byte, or an overlong form
  if (lead < 0xE0) return tail(at + 1) ? 2 : 0;
  if (lead < 0xF0) {
    const unsigned second = byte(at + 1);
    if (lead == 0xE0 && second < 0xA0) return 0;   // overlong
    if (lead == 0xED && second >= 0xA0) return 0;  // surrogates
    return tail(at + 1) && tail(at + 2) ? 3 : 0;
  }
  if (lead < 0xF5) {
    const unsigned second = byte(at + 1);
    if (lead == 0xF0 && second < 0x90) return 0;   // overlong
    if (lead == 0xF4 && second >= 0x90) return 0;  // above U+10FFFF
    return tail(at + 1) && tail(at + 2) && tail(at + 3) ? 4 : 0;
  }
  return 0;
}

std::optional<std::uint64_t> whole_number(std::string_view digits, int base) {
  std::uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, problem] = std::from_chars(digits.data(), end, value, base);
  if (digits.empty() || problem != std::errc{} || stop != end) return std::nullopt;
  return value;
}

}  // namespace

std::size_t invalid_utf8_at(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t eight = 0;
    if (at + sizeof eight <= text.size()) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & 0x8080808080808080ull) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const std::size_t length = sequence_length(text, at);
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

std::string printable(std::string_view text, std::size_t most) {
  std::string out;
  std::size_t bad = invalid_utf8_at(text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool broken = i == bad;
    if (broken) {
      const std::size_t next = invalid_utf8_at(text.substr(i + 1));
      bad = next == std::string_view::npos ? next : i + 1 + next;
    }
    const bool starts_character = broken || (byte & 0xC0) != 0x80;
    if (starts_character && out.size() >= most) return out + "...";
    if (byte < 0x20 || byte == 0x7F || broken) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += text[i];
    }
  }
  return out;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (std::size_t at = text.find(separator); at != std::string_view::npos; at = text.find(separator, from)) {
    parts.emplace_back(text.substr(from, at - from));
    from = at + 1;
  }
  parts.emplace_back(text.substr(from));
  return parts;
}

std::string hex_u64(std::uint64_t value) {
  return fmt::format("{:#x}", value);
}

std::optional<std::uint64_t> parse_hex_u64(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  return whole_number(text.substr(2), 16);
}

std::optional<std::uint64_t> parse_decimal_u64(std::string_view text) {
  return whole_number(text, 10);
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::uint64_t kMebi = 1ull << 20;
  if (bytes < kMebi) return fmt::format("{} B", bytes);
  constexpr std::array<const char*, 5> kUnits{"MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / static_cast<double>(kMebi);
  std::size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  return fmt::format("{:.3f} {}", value, kUnits[unit]);
}

}  // namespace calkit
