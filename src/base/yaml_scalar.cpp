#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "calkit/base/text.h"
#include "tree_builder.h"

namespace calkit {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_digit_or_gap(char c) {
  return is_digit(c) || c == '_';
}

/// A tiny scanner: each take_* moves past what it names and says how much that was.
struct Scan {
  std::string_view rest;
  std::size_t take_while(bool (*accept)(char)) {
    const auto end = std::find_if_not(rest.begin(), rest.end(), accept);
    const auto count = static_cast<std::size_t>(end - rest.begin());
    rest.remove_prefix(count);
    return count;
  }
  bool take_any(std::string_view set) {
    if (rest.empty() || set.find(rest.front()) == std::string_view::npos) return false;
    rest.remove_prefix(1);
    return true;
  }
  bool done() const { return rest.empty(); }
};

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return out;
}

/// -?(0|[1-9][0-9]*), then optionally .[0-9]+, then (only after a fraction) optionally [eE][+-][0-9]+:
/// the forms that YAML 1.1, YAML 1.2 and JSON read alike.
struct Plain {
  bool integer = false;
  bool decimal = false;
};
Plain plain_number(std::string_view text) {
  Scan scan{text};
  scan.take_any("-");
  const bool zero = scan.rest.starts_with('0');
  const std::size_t digits = scan.take_while(is_digit);
  if (digits == 0 || (zero && digits > 1)) return {};
  if (scan.done()) return {.integer = true};
  if (!scan.take_any(".") || scan.take_while(is_digit) == 0) return {};
  if (scan.take_any("eE") && (!scan.take_any("+-") || scan.take_while(is_digit) == 0)) return {};
  return {.decimal = scan.done()};
}

bool is_word_of(std::string_view text) {
  constexpr std::array<std::string_view, 10> kWords{"null", "~", "true", "false", "yes", "no", "on", "off", "y", "n"};
  return std::find(kWords.begin(), kWords.end(), text) != kWords.end();
}

bool is_based_number(std::string_view text) {
  if (text.size() < 3 || text[0] != '0') return false;
  const char base = text[1];
  if (base != 'x' && base != 'X' && base != 'o' && base != 'O' && base != 'b' && base != 'B') return false;
  return text.find_first_not_of("0123456789abcdefABCDEF_", 2) == std::string_view::npos;
}

/// Digits, gaps, one point, an exponent, in whatever order some reader takes them: "010", "5.", ".5", "1e3", "1_000".
bool is_loose_number(std::string_view text) {
  Scan scan{text};
  std::size_t digits = scan.take_while(is_digit_or_gap);
  if (scan.take_any(".")) digits += scan.take_while(is_digit_or_gap);
  if (digits == 0 || text.find_first_of("0123456789") == std::string_view::npos) return false;
  if (scan.take_any("eE")) {
    scan.take_any("+-");
    if (scan.take_while(is_digit_or_gap) == 0) return false;
  }
  return scan.done();
}

/// "12:30:45" is a number of base 60 to YAML 1.1.
bool is_base_sixty(std::string_view text) {
  Scan scan{text};
  if (scan.take_while(is_digit_or_gap) == 0) return false;
  std::size_t groups = 0;
  while (scan.take_any(":")) {
    if (scan.take_while(is_digit) == 0) return false;
    ++groups;
  }
  if (scan.take_any(".")) scan.take_while(is_digit_or_gap);
  return groups > 0 && scan.done();
}

/// "2026-01-31" and what begins so is a time to YAML 1.1.
bool is_date(std::string_view text) {
  Scan scan{text};
  if (scan.take_while(is_digit) != 4 || !scan.take_any("-")) return false;
  if (const std::size_t month = scan.take_while(is_digit); month == 0 || month > 2) return false;
  if (!scan.take_any("-")) return false;
  const std::size_t day = scan.take_while(is_digit);
  return (day == 1 || day == 2) && (scan.done() || scan.rest.find_first_of("Tt ") == 0);
}

bool is_ambiguous(std::string_view text) {
  if (is_word_of(lower(text)) || text == "=" || text == "<<") return true;
  std::string_view magnitude = text;
  if (magnitude.starts_with('+') || magnitude.starts_with('-')) magnitude.remove_prefix(1);
  const std::string name = lower(magnitude);
  return name == ".nan" || name == ".inf" || is_based_number(magnitude) || is_loose_number(magnitude) ||
         is_base_sixty(magnitude) || is_date(text);
}

PlainScalar read_number(std::string_view text, bool integer) {
  const char* end = text.data() + text.size();
  if (!integer) {
    double value = 0;
    const auto [stop, problem] = std::from_chars(text.data(), end, value);
    if (problem != std::errc{} || stop != end || !std::isfinite(value)) return {{}, "is outside the range of a double"};
    return {Value(value), {}};
  }
  std::int64_t value = 0;
  if (text == "-0") return {{}, "is the integer -0"};
  if (std::from_chars(text.data(), end, value).ec == std::errc{}) return {Value(value), {}};
  if (const auto large = parse_decimal_u64(text)) return {Value(*large), {}};
  return {{}, "is outside -2^63 to 2^64-1"};
}

}  // namespace

PlainScalar read_plain_scalar(std::string_view text) {
  if (text == "null") return {};
  if (text == "true") return {Value(true), {}};
  if (text == "false") return {Value(false), {}};
  const Plain number = plain_number(text);
  if (number.integer || number.decimal) return read_number(text, number.integer);
  if (is_ambiguous(text)) return {{}, "is read differently by different YAML readers"};
  return {Value(text), {}};
}

}  // namespace calkit
