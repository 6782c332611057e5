#pragma once
/// The peer's sets of code points (tools/peers/make_unicode_table.py). Its engine knows Unicode 16; what is installed
/// may not.
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "calkit/base/unicode.h"

namespace calkit::hf {

struct CodeRange {
  char32_t first = 0, last = 0;
};

/// Sorted, disjoint ranges. @param name a general category ("Lu", "Nd", ...), a script ("Han", "Hangul", "Hiragana",
/// "Katakana"), "space" and "word" (\s and \w of a Split pattern), "numeric" (Digits), "added_word" (\w around added
/// tokens, and of Whitespace), "punctuation" (Punctuation), "combining_mark" (StripAccents). Empty: no such set.
std::span<const CodeRange> unicode_ranges(std::string_view name);

/// True if one of the ranges holds the code point.
bool in_ranges(std::span<const CodeRange> ranges, char32_t c);

/// What Lowercase makes of one code point: one or two.
struct LowerCase {
  char32_t from = 0, first = 0, second = 0;  ///< second is 0 if there is one
};
LowerCase lower_case(char32_t c);

/// The code point that ends just before `at` (> 0).
CodePoint code_point_before(std::string_view text, std::size_t at);

}  // namespace calkit::hf
