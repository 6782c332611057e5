#include <algorithm>
#include <iterator>

#include "unicode_table.h"

namespace calkit::hf {
namespace {

struct NamedRanges {
  std::string_view name;
  std::span<const CodeRange> ranges;
};

#include "unicode_lower_table.inc"
#include "unicode_table.inc"

}  // namespace

std::span<const CodeRange> unicode_ranges(std::string_view name) {
  for (const NamedRanges& set : kNamed)
    if (set.name == name) return set.ranges;
  return {};
}

bool in_ranges(std::span<const CodeRange> ranges, char32_t c) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), c,
                                      [](char32_t value, const CodeRange& range) { return value < range.first; });
  return after != ranges.begin() && c <= std::prev(after)->last;
}

LowerCase lower_case(char32_t c) {
  const auto* const end = std::end(kLower);
  const auto* const at =
      std::lower_bound(std::begin(kLower), end, c, [](const LowerCase& row, char32_t v) { return row.from < v; });
  return at != end && at->from == c ? *at : LowerCase{c, c, 0};
}

CodePoint code_point_before(std::string_view text, std::size_t at) {
  std::size_t start = at - 1;
  while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xc0) == 0x80) --start;
  return code_point_at(text, start);
}

}  // namespace calkit::hf
