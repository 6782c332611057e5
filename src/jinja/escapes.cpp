#include "escapes.h"

#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/unicode.h"

namespace calkit::jinja {
namespace {

constexpr std::string_view kSimple = "\\'\"abfnrtv";
constexpr std::string_view kMeaning = "\\'\"\a\b\f\n\r\t\v";

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// The code point of `count` hexadecimal digits at `at`.
Result<char32_t> hex(std::string_view body, std::size_t at, std::size_t count) {
  char32_t out = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const int digit = at + i < body.size() ? hex_digit(body[at + i]) : -1;
    if (digit < 0) return Error{ErrorKind::kInput, fmt::format("an escape of fewer than {} hexadecimal digits", count)};
    out = out * 16 + static_cast<char32_t>(digit);
  }
  if (out > 0x10FFFF) return Error{ErrorKind::kInput, "an escape beyond U+10FFFF"};
  if (out >= 0xD800 && out < 0xE000)
    return Error{ErrorKind::kInput, "an escape of half a surrogate pair; not supported"};
  return out;
}

}  // namespace

Result<std::string> unescape(std::string_view body) {
  std::string out;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\') {
      out += body[i];
      continue;
    }
    const char c = body[++i];
    if (const std::size_t known = kSimple.find(c); known != std::string_view::npos) {
      out += kMeaning[known];
    } else if (c >= '0' && c <= '7') {
      char32_t value = 0;
      std::size_t used = 0;
      for (; used < 3 && i + used < body.size() && body[i + used] >= '0' && body[i + used] <= '7'; ++used)
        value = value * 8 + static_cast<char32_t>(body[i + used] - '0');
      append_utf8(out, value);
      i += used - 1;
    } else if (c == 'x' || c == 'u' || c == 'U') {
      const std::size_t count = c == 'x' ? 2 : c == 'u' ? 4 : 8;
      CALKIT_TRY(const char32_t value, hex(body, i + 1, count));
      append_utf8(out, value);
      i += count;
    } else if (c == 'N') {
      return Error{ErrorKind::kInput, "a \\N{...} escape; not supported"};
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      // Jinja writes such a letter as an escape of its own first, whose backslash this one then protects.
      const CodePoint point = code_point_at(body, i);
      const auto value = static_cast<std::uint32_t>(point.value);
      out += value < 0x100     ? fmt::format("\\x{:02x}", value)
             : value < 0x10000 ? fmt::format("\\u{:04x}", value)
                               : fmt::format("\\U{:08x}", value);
      i += point.bytes - 1;
    } else if (c != '\n') {
      out += '\\';
      out += c;
    }
  }
  return out;
}

}  // namespace calkit::jinja
