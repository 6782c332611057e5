// "%s" % values
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "calkit/base/unicode.h"
#include "format_parts.h"
#include "unicode.h"

namespace calkit::jinja {
namespace {

class Percent {
 public:
  Percent(Run& run, const Var& format, const Var& values) : run_(run), format_(format), values_(values) {}

  Result<Var> result() {
    const std::string_view text = format_.text();
    CALKIT_CHECK_OK(run_.scan(text.size()));
    for (std::size_t at = 0; at < text.size();) {
      if (text[at] != '%') {
        out_ += text[at++];
        continue;
      }
      ++at;
      CALKIT_CHECK_OK(directive(text, at));
    }
    const bool mapping =
        values_.is(Kind::kDict) || values_.is(Kind::kList) || values_.is(Kind::kRange) || values_.is(Kind::kUndefined);
    if (!mapping && used_ < count()) return fault("not all arguments were used by the format");
    return run_.text(std::move(out_), format_.markup());
  }

 private:
  std::size_t count() const { return values_.is(Kind::kTuple) ? values_.items().size() : 1; }

  Result<Var> next_value() {
    if (used_ >= count()) return fault("not enough arguments for the format");
    const std::size_t i = used_++;
    return values_.is(Kind::kTuple) ? values_.items()[i] : values_;
  }

  Status directive(std::string_view text, std::size_t& at) {
    std::optional<Var> named;
    if (at < text.size() && text[at] == '(') {
      const std::size_t end = text.find(')', at);
      if (end == std::string_view::npos || !values_.is(Kind::kDict)) return fault("a format by name needs a mapping");
      const Var* found = values_.dict().find(text.substr(at + 1, end - at - 1));
      if (found == nullptr) return fault("a name in the format that the mapping does not have");
      named = *found;
      used_ = 1;
      at = end + 1;
    }
    Spec spec;
    for (; at < text.size() && std::string_view("#0- +").find(text[at]) != std::string_view::npos; ++at) {
      if (text[at] == '#') spec.alternate = true;
      if (text[at] == '0') spec.zero = true;
      if (text[at] == '-') spec.align = '<';
      if (text[at] == '+' || (text[at] == ' ' && spec.sign != '+')) spec.sign = text[at];
    }
    if (at < text.size() && text[at] == '*') return fault("a width '*' in a format; not supported");
    CALKIT_TRY(spec.width, digits(text, at));
    if (at < text.size() && text[at] == '.') {
      ++at;
      CALKIT_TRY(spec.precision, digits(text, at));
    }
    while (at < text.size() && (text[at] == 'h' || text[at] == 'l' || text[at] == 'L')) ++at;
    if (at >= text.size()) return fault("a format that ends inside of a directive");
    spec.type = text[at++];
    if (spec.type == '%') {
      out_ += '%';
      return {};
    }
    Var value;
    if (named) {
      value = *named;
    } else {
      CALKIT_TRY(value, next_value());
    }
    CALKIT_TRY(const auto one, converted(value, spec));
    out_ += one;
    return run_.charge(one.size());
  }

  Result<std::string> converted(const Var& value, Spec spec) {
    if (spec.type == 's' || spec.type == 'r') {
      CALKIT_TRY(auto text, spec.type == 's' ? str(run_, value) : repr(run_, value));
      if (format_.markup() && !value.markup()) text = escape_html(text);
      if (spec.precision >= 0) text = text.substr(0, byte_of(text, static_cast<std::size_t>(spec.precision)));
      spec.zero = false;
      return padded(run_, text, spec, '>');
    }
    if (spec.type == 'c' || spec.type == 'a') return fault(fmt::format("the format '%{}'; not supported", spec.type));
    const bool integer = std::string_view("diuxXo").find(spec.type) != std::string_view::npos;
    const bool real = std::string_view("eEfFgG").find(spec.type) != std::string_view::npos;
    if (!integer && !real) return fault("an unknown letter in a format");
    if (value.is(Kind::kUndefined)) return need_value(value);
    if (!value.is_number()) return fault(fmt::format("a '{}' where the format needs a number", type_name(value)));
    std::string text;
    bool negative = std::signbit(value.real());
    if (integer) {
      std::int64_t whole = value.integer();
      if (value.is(Kind::kFloat)) {
        const double cut = std::trunc(value.real());
        if (spec.type == 'x' || spec.type == 'X' || spec.type == 'o')
          return fault("a float where the format needs an integer");
        if (!(std::abs(cut) < 9e18)) return fault("an integer beyond 64 bits; not supported");
        whole = static_cast<std::int64_t>(cut);
      }
      negative = whole < 0;
      text = integer_digits(whole, spec.type, spec.alternate);
      if (spec.precision >= 0 && static_cast<std::int64_t>(text.size()) < spec.precision) {
        CALKIT_CHECK_OK(run_.charge(static_cast<std::uint64_t>(spec.precision)));
        text.insert(0, static_cast<std::size_t>(spec.precision) - text.size(), '0');
      }
    } else {
      if (spec.alternate) return fault("'#' in the format of a float; not supported");
      CALKIT_TRY(text, real_digits(value.real(), spec.type, spec.precision));
    }
    if (spec.align == '<') spec.zero = false;
    return padded(run_, signed_text(negative, spec.sign, std::move(text)), spec, '>');
  }

  Run& run_;
  const Var& format_;
  const Var& values_;
  std::string out_;
  std::size_t used_ = 0;
};

}  // namespace

Result<Var> percent_format(Run& run, const Var& format, const Var& values) {
  return Percent(run, format, values).result();
}

}  // namespace calkit::jinja
