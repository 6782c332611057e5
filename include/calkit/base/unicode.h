#pragma once
/// Code points of UTF-8, and the normal forms of Unicode.
#include <cstddef>
#include <string>
#include <string_view>

namespace calkit {

/// The code point that starts at `at` of valid UTF-8, and its length in bytes.
struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;
};
CodePoint code_point_at(std::string_view text, std::size_t at);
void append_utf8(std::string& out, char32_t c);

/// Canonical composition (NFC) by the tables of Unicode 9; whatever is newer is inert.
/// @param text valid UTF-8. Time is O(n log n).
std::string nfc(std::string_view text);

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };
/// The same tables and bounds for all four forms.
std::string normal_form(std::string_view text, NormalForm form);

}  // namespace calkit
