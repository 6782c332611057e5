#include <fmt/format.h>

#include <array>
#include <numeric>

#include "calkit/base/checked.h"
#include "calkit/base/text.h"

namespace calkit {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array<Unit, 9> kUnits{{{"B", 1},
                                      {"KiB", 1ull << 10},
                                      {"MiB", 1ull << 20},
                                      {"GiB", 1ull << 30},
                                      {"TiB", 1ull << 40},
                                      {"kB", 1000ull},
                                      {"MB", 1000000ull},
                                      {"GB", 1000000000ull},
                                      {"TB", 1000000000000ull}}};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view leading_digits(std::string_view text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  return text.substr(0, count);
}

Quantity problem(std::string text) {
  return Quantity{std::nullopt, std::move(text)};
}

/// The bytes that "0.<digits>" of one unit stands for, if they are a whole number.
std::optional<std::uint64_t> fraction_bytes(std::string_view digits, std::uint64_t unit) {
  while (!digits.empty() && digits.back() == '0') digits.remove_suffix(1);
  if (digits.empty()) return 0;
  if (digits.size() > 18) return std::nullopt;  // 10^18 divides no unit: the result cannot be whole
  std::uint64_t scale = 1;
  for (std::size_t i = 0; i < digits.size(); ++i) scale *= 10;
  const std::uint64_t numerator = *parse_decimal_u64(digits);
  const std::uint64_t common = std::gcd(scale, unit);
  if (numerator % (scale / common) != 0) return std::nullopt;
  return numerator / (scale / common) * (unit / common);
}

}  // namespace

Quantity parse_quantity(std::string_view text) {
  const std::string_view whole = leading_digits(text);
  std::string_view rest = text.substr(whole.size());
  std::string_view fraction;
  if (rest.starts_with('.')) {
    fraction = leading_digits(rest.substr(1));
    if (fraction.empty()) return problem("not a number");
    rest.remove_prefix(1 + fraction.size());
  }
  if (whole.empty() || (whole.size() > 1 && whole[0] == '0')) return problem("not a number");
  if (rest.empty()) return problem("no unit");
  for (const char c : rest) {
    if (is_digit(c)) return problem("not a number");  // "0x10 MB", "1e3 B"
  }
  if (rest.starts_with(' ')) rest.remove_prefix(1);
  if (rest.empty()) return problem("no unit");

  for (const Unit& unit : kUnits) {
    if (unit.name != rest) continue;
    const auto part = fraction_bytes(fraction, unit.bytes);
    if (!part) return problem("not a whole number of bytes");
    const auto count = parse_decimal_u64(whole);
    const auto bytes = count ? checked_mul(*count, unit.bytes) : std::nullopt;
    const auto total = bytes ? checked_add(*bytes, *part) : std::nullopt;
    if (!total) return problem("too large");
    return Quantity{total, {}};
  }
  return problem(fmt::format("unknown unit '{}'", rest));
}

}  // namespace calkit
