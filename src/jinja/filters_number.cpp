#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "filters.h"
#include "unicode.h"

namespace calkit::jinja {
namespace {

// The text of a number as Python's int() and float() take it: trimmed, single underscores between digits.
std::optional<std::string> number_text(std::string_view text) {
  text = lstrip(rstrip(text));
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
      continue;
    }
    const auto digit = [&](std::size_t at) {
      return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
    };
    if (i == 0 || !digit(i - 1) || !digit(i + 1)) return std::nullopt;
  }
  return out;
}

std::optional<double> parse_float(std::string_view raw) {
  const auto text = number_text(raw);
  if (!text || text->empty()) return std::nullopt;
  std::string lower = to_lower(*text);
  const bool negative = lower[0] == '-';
  if (lower[0] == '+' || lower[0] == '-') lower.erase(0, 1);
  if (lower == "inf" || lower == "infinity") return negative ? -HUGE_VAL : HUGE_VAL;
  if (lower == "nan") return std::nan("");
  if (lower.empty() || !(std::isdigit(static_cast<unsigned char>(lower[0])) != 0 || lower[0] == '.'))
    return std::nullopt;
  double out = 0;
  const auto read = std::from_chars(lower.data(), lower.data() + lower.size(), out);
  if (read.ptr != lower.data() + lower.size() || read.ec == std::errc::invalid_argument) return std::nullopt;
  if (read.ec == std::errc::result_out_of_range) out = std::strtod(lower.c_str(), nullptr);
  return negative ? -out : out;
}

// nullopt: no integer. An error: one that does not fit.
Result<std::optional<std::int64_t>> parse_int(std::string_view raw, std::int64_t base) {
  auto text = number_text(raw);
  if (!text || text->empty()) return std::optional<std::int64_t>();
  std::string digits = *text;
  const bool negative = digits[0] == '-';
  if (digits[0] == '+' || digits[0] == '-') digits.erase(0, 1);
  if (digits.size() > 2 && digits[0] == '0') {
    const char kind = static_cast<char>(digits[1] | 0x20);
    const std::int64_t own = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;
    if (own != 0 && (base == own || base == 0)) {
      digits.erase(0, 2);
      base = own;
    }
  }
  if (base == 0) {
    if (digits.size() > 1 && digits[0] == '0' && digits.find_first_not_of('0') != std::string::npos)
      return std::optional<std::int64_t>();
    base = 10;
  }
  if (digits.empty() || digits[0] == '-') return std::optional<std::int64_t>();
  if (negative) digits.insert(digits.begin(), '-');
  std::int64_t out = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), out, static_cast<int>(base));
  if (read.ptr != digits.data() + digits.size() || read.ec == std::errc::invalid_argument)
    return std::optional<std::int64_t>();
  if (read.ec == std::errc::result_out_of_range) return fault("an integer beyond 64 bits; not supported");
  return std::optional(out);
}

Result<std::optional<std::int64_t>> whole(double value) {
  if (!std::isfinite(value)) return std::optional<std::int64_t>();
  const double cut = std::trunc(value);
  if (cut < -9223372036854775808.0 || cut >= 9223372036854775808.0)
    return fault("an integer beyond 64 bits; not supported");
  return std::optional(static_cast<std::int64_t>(cut));
}

Result<Var> to_int(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(auto given, bind("int", args, {"default", "base"}, 0));
  const Var fallback = given[0].is(Kind::kMissing) ? Var::integer(0) : given[0];
  if (value.is(Kind::kUndefined)) return need_value(value);
  std::optional<std::int64_t> out;
  if (value.is(Kind::kString)) {
    CALKIT_CHECK_OK(run.scan(value.text().size()));
    std::int64_t base = 10;
    if (!given[1].is(Kind::kMissing)) {
      CALKIT_TRY(base, want_int(given[1], "int"));
    }
    if (base != 0 && (base < 2 || base > 36)) return fallback;
    CALKIT_TRY(out, parse_int(value.text(), base));
    if (!out) {
      const auto real = parse_float(value.text());
      if (!real) return fallback;
      CALKIT_TRY(out, whole(*real));
    }
  } else if (value.is(Kind::kFloat)) {
    if (std::isinf(value.real())) return fault("an infinity as an integer");
    CALKIT_TRY(out, whole(value.real()));
  } else if (value.is_integer()) {
    out = value.integer();
  }
  return out ? Var::integer(*out) : fallback;
}

Result<Var> to_float(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(auto given, bind("float", args, {"default"}, 0));
  if (value.is(Kind::kUndefined)) return need_value(value);
  if (value.is_number()) return Var::real(value.real());
  if (value.is(Kind::kString)) {
    CALKIT_CHECK_OK(run.scan(value.text().size()));
    if (const auto out = parse_float(value.text())) return Var::real(*out);
  }
  return given[0].is(Kind::kMissing) ? Var::real(0.0) : given[0];
}

Result<Var> absolute(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("abs", args, {}, 0));
  if (value.is(Kind::kUndefined)) return need_value(value);
  if (value.is(Kind::kFloat)) return Var::real(std::abs(value.real()));
  if (!value.is_integer()) return fault(fmt::format("abs of a '{}'", type_name(value)));
  if (value.integer() < 0) return arithmetic(run, "-", Var::integer(0), value);
  return Var::integer(value.integer());
}

// The decimal digits decide, not the binary value times a power of ten.
double round_to(double value, std::int64_t digits) {
  if (!std::isfinite(value) || digits > 330) return value;
  if (digits < -310) return std::copysign(0.0, value);
  if (digits >= 0) {
    const std::string text = fmt::format("{:.{}f}", value, digits);
    return std::strtod(text.c_str(), nullptr);
  }
  const double power = std::pow(10.0, static_cast<double>(-digits));
  const double scaled = value / power;
  double whole = std::round(scaled);
  if (std::abs(scaled - whole) == 0.5) whole = 2.0 * std::round(scaled / 2.0);
  return whole * power;
}

Result<Var> round(Run&, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("round", args, {"precision", "method"}, 0));
  std::int64_t digits = 0;
  if (!given[0].is(Kind::kMissing)) {
    CALKIT_TRY(digits, want_int(given[0], "round"));
  }
  const std::string method = given[1].is(Kind::kMissing) ? "common" : given[1].text();
  if (method != "common" && method != "ceil" && method != "floor")
    return fault("round: the method must be common, ceil or floor");
  if (value.is(Kind::kUndefined)) return need_value(value);
  if (!value.is_number()) return fault(fmt::format("round of a '{}'", type_name(value)));
  if (method == "common") {
    if (value.is(Kind::kFloat)) return Var::real(round_to(value.real(), digits));
    if (digits >= 0) return Var::integer(value.integer());
    return fault("round of an integer to tens; not supported");
  }
  if (digits < 0 || digits > 18) return fault("round by ceil or floor: a precision outside of 0 to 18; not supported");
  std::int64_t power = 1;
  for (std::int64_t i = 0; i < digits; ++i) power *= 10;
  const double scaled = value.real() * static_cast<double>(power);
  const double moved = method == "ceil" ? std::ceil(scaled) : std::floor(scaled);
  if (!std::isfinite(moved)) return fault("round of an infinity or NaN");
  return Var::real(moved / static_cast<double>(power));
}

constexpr Named kTable[] = {{"abs", absolute}, {"float", to_float}, {"int", to_int}, {"round", round}};

}  // namespace

const std::pair<const Named*, std::size_t> kNumberFilters{kTable, std::size(kTable)};

}  // namespace calkit::jinja
