#include <fmt/format.h>

#include <cmath>

#include "ops.h"

namespace calkit::jinja {
namespace {

Error no_operator(const std::string& op, const Var& a, const Var& b) {
  return fault(fmt::format("'{}' between '{}' and '{}'", op, type_name(a), type_name(b)));
}

// `value` by reference: it is written while the arguments are evaluated.
Result<Var> fitting(bool overflowed, const std::int64_t& value) {
  if (overflowed) return fault("an integer beyond 64 bits; not supported");
  return Var::integer(value);
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  const std::int64_t q = a / b;
  return (a % b != 0) && ((a < 0) != (b < 0)) ? q - 1 : q;
}

Result<Var> integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return fault("zero to a negative power");
    return Var::real(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  if (base == 0 || base == 1) return Var::integer(exponent == 0 ? 1 : base);
  if (base == -1) return Var::integer(exponent % 2 == 0 ? 1 : -1);
  if (exponent > 63) return fault("an integer beyond 64 bits; not supported");
  std::int64_t out = 1;
  for (std::int64_t i = 0; i < exponent; ++i)
    if (__builtin_mul_overflow(out, base, &out)) return fault("an integer beyond 64 bits; not supported");
  return Var::integer(out);
}

Result<Var> integers(const std::string& op, std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (op == "+") return fitting(__builtin_add_overflow(a, b, &out), out);
  if (op == "-") return fitting(__builtin_sub_overflow(a, b, &out), out);
  if (op == "*") return fitting(__builtin_mul_overflow(a, b, &out), out);
  if (op == "**") return integer_power(a, b);
  if (b == 0) return fault("division by zero");
  if (op == "/") return Var::real(static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b)));
  if (b == -1) {
    if (op != "//") return Var::integer(0);
    return fitting(__builtin_sub_overflow(std::int64_t{0}, a, &out), out);
  }
  if (op == "//") return Var::integer(floor_divide(a, b));
  const std::int64_t rest = a % b;  // with the sign of a; Python's has that of b
  return Var::integer(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}

// The remainder has the divisor's sign.
double floor_modulo(double a, double b) {
  double out = std::fmod(a, b);
  if (out == 0) return std::copysign(0.0, b);
  return (out < 0) != (b < 0) ? out + b : out;
}

Result<Var> doubles(const std::string& op, double a, double b) {
  if (op == "+") return Var::real(a + b);
  if (op == "-") return Var::real(a - b);
  if (op == "*") return Var::real(a * b);
  if (op == "**") {
    if (a == 0 && b < 0) return fault("zero to a negative power");
    if (a < 0 && b != std::floor(b)) return fault("a root of a negative number; not supported");
    const double out = std::pow(a, b);
    if (std::isinf(out) && std::isfinite(a) && std::isfinite(b)) return fault("a power beyond what a double holds");
    return Var::real(out);
  }
  if (b == 0) return fault("division by zero");
  if (op == "/") return Var::real(a / b);
  const double rest = floor_modulo(a, b);
  if (op == "%") return Var::real(rest);
  const double quotient = (a - rest) / b;
  if (quotient == 0) return Var::real(std::copysign(0.0, a / b));
  const double down = std::floor(quotient);
  return Var::real(quotient - down > 0.5 ? down + 1 : down);
}

Result<Var> join_texts(Run& run, const Var& a, const Var& b) {
  if (a.markup() == b.markup()) {
    CALKIT_CHECK_OK(run.scan(a.text().size() + b.text().size()));
    return run.text(a.text() + b.text(), a.markup());
  }
  const std::string left = a.markup() ? a.text() : escape_html(a.text());
  return run.text(left + (b.markup() ? b.text() : escape_html(b.text())), true);
}

Result<Var> joined(Run& run, const Var& a, const Var& b) {
  CALKIT_CHECK_OK(run.step(a.items().size() + b.items().size()));
  std::vector<Var> items = a.items();
  items.insert(items.end(), b.items().begin(), b.items().end());
  return a.is(Kind::kList) ? run.list(std::move(items)) : run.tuple(std::move(items));
}

Result<Var> repeated(Run& run, const Var& value, std::int64_t times) {
  const std::uint64_t count = times > 0 ? static_cast<std::uint64_t>(times) : 0;
  const std::uint64_t size = value.is(Kind::kString) ? value.text().size() : value.items().size() * sizeof(Var);
  if (size != 0 && count > UINT32_MAX)
    return fault("a repetition of more than 4294967295 times (limit of the renderer)");
  CALKIT_CHECK_OK(run.charge(size * count));
  if (value.is(Kind::kString)) {
    CALKIT_CHECK_OK(run.scan(size * count));
    std::string out;
    if (size != 0)
      for (std::uint64_t i = 0; i < count; ++i) out += value.text();
    return Var::text(std::move(out), value.markup());
  }
  CALKIT_CHECK_OK(run.step(size == 0 ? 0 : value.items().size() * count));
  std::vector<Var> items;
  if (size != 0)
    for (std::uint64_t i = 0; i < count; ++i) items.insert(items.end(), value.items().begin(), value.items().end());
  return value.is(Kind::kList) ? run.list(std::move(items)) : run.tuple(std::move(items));
}

bool repeats(const Var& value) {
  return value.is(Kind::kString) || value.is_list_like();
}

}  // namespace

Result<std::int64_t> want_int(const Var& value, const char* what) {
  if (value.is(Kind::kUndefined)) return need_value(value);
  if (!value.is_integer()) return fault(fmt::format("{}: a '{}' where an integer is needed", what, type_name(value)));
  return value.integer();
}

Result<Var> arithmetic(Run& run, const std::string& op, const Var& a, const Var& b) {
  if (op == "%" && a.is(Kind::kString)) return percent_format(run, a, b);
  if (a.is(Kind::kUndefined)) return need_value(a);
  if (b.is(Kind::kUndefined)) return need_value(b);
  if (a.is_integer() && b.is_integer()) return integers(op, a.integer(), b.integer());
  if (a.is_number() && b.is_number()) return doubles(op, a.real(), b.real());
  if (op == "+" && a.is(Kind::kString) && b.is(Kind::kString)) return join_texts(run, a, b);
  if (op == "+" && a.is_list_like() && a.kind() == b.kind()) return joined(run, a, b);
  if (op == "*" && repeats(a) && b.is_integer()) return repeated(run, a, b.integer());
  if (op == "*" && repeats(b) && a.is_integer()) return repeated(run, b, a.integer());
  return no_operator(op, a, b);
}

}  // namespace calkit::jinja
