#include <algorithm>

#include "unicode_table.h"

namespace calkit::hf {
namespace {

struct NamedRanges {
  std::string_view name;
  std::span<const CodeRange> ranges;
};

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

CodePoint code_point_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const auto tail = [&](std::size_t i) { return static_cast<char32_t>(byte(i) & 0x3f); };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xe0) return {((lead & 0x1f) << 6) | tail(1), 2};
  if (lead < 0xf0) return {((lead & 0x0f) << 12) | (tail(1) << 6) | tail(2), 3};
  return {((lead & 0x07) << 18) | (tail(1) << 12) | (tail(2) << 6) | tail(3), 4};
}

CodePoint code_point_before(std::string_view text, std::size_t at) {
  std::size_t start = at - 1;
  while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xc0) == 0x80) --start;
  return code_point_at(text, start);
}

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | (c >> 6));
    put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | (c >> 12));
    put(0x80 | ((c >> 6) & 0x3f));
    put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | (c >> 18));
    put(0x80 | ((c >> 12) & 0x3f));
    put(0x80 | ((c >> 6) & 0x3f));
    put(0x80 | (c & 0x3f));
  }
}

}  // namespace calkit::hf
