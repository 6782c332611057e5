#include "unicode.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "calkit/base/unicode.h"

namespace calkit::jinja {
namespace {

struct PointRange {
  char32_t first, last;
};
// Code points first, first + step ... last become themselves plus delta.
struct CaseRun {
  char32_t first, last;
  int step, delta;
};
struct SpecialCase {
  char32_t from;
  char32_t to[3];
};
#include "unicode_table.inc"

template <std::size_t N>
bool in(const PointRange (&table)[N], char32_t c) {
  const auto after = std::upper_bound(std::begin(table), std::end(table), c,
                                      [](char32_t value, const PointRange& range) { return value < range.first; });
  return after != std::begin(table) && c <= std::prev(after)->last;
}

template <std::size_t N, std::size_t M>
void append_mapped(std::string& out, char32_t c, const CaseRun (&runs)[N], const SpecialCase (&special)[M]) {
  const auto found = std::lower_bound(std::begin(special), std::end(special), c,
                                      [](const SpecialCase& entry, char32_t value) { return entry.from < value; });
  if (found != std::end(special) && found->from == c) {
    for (const char32_t to : found->to)
      if (to != 0) append_utf8(out, to);
    return;
  }
  const auto after = std::upper_bound(std::begin(runs), std::end(runs), c,
                                      [](char32_t value, const CaseRun& run) { return value < run.first; });
  // Two runs of every second code point may overlap, so the one before is asked too.
  auto run = after;
  for (int i = 0; i < 2 && run != std::begin(runs); ++i) {
    --run;
    if (c > run->last || (c - run->first) % static_cast<char32_t>(run->step) != 0) continue;
    append_utf8(out, static_cast<char32_t>(static_cast<std::int64_t>(c) + run->delta));
    return;
  }
  append_utf8(out, c);
}

constexpr char32_t kSigma = 0x3A3;

// A sigma behind a letter and before none is written as a final one.
bool final_sigma(std::string_view text, std::size_t at, std::size_t bytes) {
  std::optional<char32_t> before;
  for (std::size_t i = at; i > 0 && !before;) {
    do --i;
    while ((static_cast<unsigned char>(text[i]) & 0xC0) == 0x80);
    const char32_t c = code_point_at(text, i).value;
    if (!in(kCaseIgnorable, c)) before = c;
  }
  if (!before || !is_cased(*before)) return false;
  for (std::size_t i = at + bytes; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    if (!in(kCaseIgnorable, c.value)) return !is_cased(c.value);
    i += c.bytes;
  }
  return true;
}

void append_lower(std::string& out, std::string_view text, std::size_t at, CodePoint c) {
  if (c.value == kSigma)
    append_utf8(out, final_sigma(text, at, c.bytes) ? 0x3C2 : 0x3C3);
  else
    append_mapped(out, c.value, kToLower, kToLowerSpecial);
}

bool in_set(std::string_view set, char32_t c) {
  for (std::size_t i = 0; i < set.size();) {
    const CodePoint one = code_point_at(set, i);
    if (one.value == c) return true;
    i += one.bytes;
  }
  return false;
}

template <class Drops>
std::string_view strip_left(std::string_view text, Drops drops) {
  while (!text.empty()) {
    const CodePoint c = code_point_at(text, 0);
    if (!drops(c.value)) break;
    text.remove_prefix(c.bytes);
  }
  return text;
}

template <class Drops>
std::string_view strip_right(std::string_view text, Drops drops) {
  while (!text.empty()) {
    std::size_t at = text.size() - 1;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
    if (!drops(code_point_at(text, at).value)) break;
    text.remove_suffix(text.size() - at);
  }
  return text;
}

}  // namespace

bool is_space(char32_t c) {
  return (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}
bool is_line_end(char32_t c) {
  return (c >= 10 && c <= 13) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}
bool is_alpha(char32_t c) {
  return in(kAlpha, c);
}
bool is_decimal(char32_t c) {
  return in(kDecimal, c);
}
bool is_digit(char32_t c) {
  return in(kDigit, c);
}
bool is_numeric(char32_t c) {
  return in(kNumeric, c);
}
bool is_alnum(char32_t c) {
  return in(kAlpha, c) || in(kNumeric, c);
}
bool is_lower(char32_t c) {
  return in(kLower, c);
}
bool is_upper(char32_t c) {
  return in(kUpper, c);
}
bool is_title(char32_t c) {
  return in(kTitleOnly, c);
}
bool is_cased(char32_t c) {
  return is_lower(c) || is_upper(c) || is_title(c);
}
bool is_printable(char32_t c) {
  return in(kPrintable, c);
}

std::string to_lower(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    append_lower(out, text, i, c);
    i += c.bytes;
  }
  return out;
}

std::string to_upper(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    append_mapped(out, c.value, kToUpper, kToUpperSpecial);
    i += c.bytes;
  }
  return out;
}

std::string to_title(std::string_view text) {
  std::string out;
  bool inside = false;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    if (inside)
      append_lower(out, text, i, c);
    else
      append_mapped(out, c.value, kToTitle, kToTitleSpecial);
    inside = is_cased(c.value);
    i += c.bytes;
  }
  return out;
}

std::string to_capitalized(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    if (i == 0)
      append_mapped(out, c.value, kToTitle, kToTitleSpecial);
    else
      append_lower(out, text, i, c);
    i += c.bytes;
  }
  return out;
}

std::string_view lstrip(std::string_view text) {
  return strip_left(text, is_space);
}
std::string_view rstrip(std::string_view text) {
  return strip_right(text, is_space);
}
std::string_view lstrip(std::string_view text, std::string_view set) {
  return strip_left(text, [&](char32_t c) { return in_set(set, c); });
}
std::string_view rstrip(std::string_view text, std::string_view set) {
  return strip_right(text, [&](char32_t c) { return in_set(set, c); });
}

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    const std::size_t end = i;
    i += c.bytes;
    if (!is_line_end(c.value)) continue;
    if (c.value == '\r' && i < text.size() && text[i] == '\n') ++i;
    out.push_back(text.substr(begin, (keep_ends ? i : end) - begin));
    begin = i;
  }
  if (begin < text.size()) out.push_back(text.substr(begin));
  return out;
}

std::size_t byte_of(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  for (; index > 0 && at < text.size(); --index) {
    do ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
  }
  return at;
}

std::size_t count_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace calkit::jinja
