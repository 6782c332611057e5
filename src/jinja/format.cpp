#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "calkit/base/unicode.h"
#include "ops.h"
#include "unicode.h"

namespace calkit::jinja {
namespace {

// What stands between '%' or ':' and the letter of a directive.
struct Spec {
  std::string fill = " ";
  char align = 0, sign = '-', type = 0;
  bool alternate = false, zero = false, comma = false;
  std::int64_t width = 0, precision = -1;
};

constexpr std::int64_t kMaxWidth = 1'000'000;

Result<std::int64_t> digits(std::string_view text, std::size_t& at) {
  std::int64_t out = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    out = out * 10 + (text[at++] - '0');
    if (out > kMaxWidth) return fault(fmt::format("a width above {} in a format (limit of the renderer)", kMaxWidth));
  }
  return out;
}

std::string signed_text(bool negative, char sign, std::string body) {
  if (negative) return "-" + body;
  return sign == '+' ? "+" + body : sign == ' ' ? " " + body : body;
}

std::string grouped(std::string digits) {
  const std::size_t end = std::min(digits.find_first_not_of("0123456789"), digits.size());
  for (std::size_t i = end; i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string integer_digits(std::int64_t value, char type, bool alternate) {
  const std::uint64_t size = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  switch (type) {
    case 'x':
      return (alternate ? "0x" : "") + fmt::format("{:x}", size);
    case 'X':
      return (alternate ? "0X" : "") + fmt::format("{:X}", size);
    case 'o':
      return (alternate ? "0o" : "") + fmt::format("{:o}", size);
    case 'b':
      return (alternate ? "0b" : "") + fmt::format("{:b}", size);
    default:
      return std::to_string(size);
  }
}

Result<std::string> real_digits(double value, char type, std::int64_t precision) {
  if (std::isnan(value) || std::isinf(value)) {
    const std::string out = std::isnan(value) ? "nan" : "inf";
    return type == 'F' || type == 'E' || type == 'G' ? to_upper(out) : out;
  }
  if (precision > 1000) return fault("more than 1000 digits in the format of a float (limit of the renderer)");
  const int places = precision < 0 ? 6 : static_cast<int>(precision);
  switch (type) {
    case 'f':
    case 'F':
      return fmt::format("{:.{}f}", std::abs(value), places);
    case 'e':
      return fmt::format("{:.{}e}", std::abs(value), places);
    case 'E':
      return fmt::format("{:.{}E}", std::abs(value), places);
    case 'g':
      return fmt::format("{:.{}g}", std::abs(value), places);
    case 'G':
      return fmt::format("{:.{}G}", std::abs(value), places);
    case '%':
      return fmt::format("{:.{}f}%", std::abs(value) * 100, places);
    default:
      return fault(fmt::format("the format '{}' of a float; not supported", type));
  }
}

Result<std::string> padded(Run& run, const std::string& text, const Spec& spec, char usual_align) {
  const auto length = static_cast<std::int64_t>(count_points(text));
  if (length >= spec.width) return text;
  const auto room = static_cast<std::uint64_t>(spec.width - length);
  CALKIT_CHECK_OK(run.charge(room * spec.fill.size()));
  const char align = spec.align != 0 ? spec.align : spec.zero ? '=' : usual_align;
  const std::string& fill = spec.zero && spec.align == 0 ? "0" : spec.fill;
  std::string space;
  std::string left, right;
  const std::uint64_t before = align == '<' ? 0 : align == '^' ? room / 2 : room;
  for (std::uint64_t i = 0; i < before; ++i) left += fill;
  for (std::uint64_t i = before; i < room; ++i) right += fill;
  if (align != '=') return left + text + right;
  std::size_t lead = !text.empty() && (text[0] == '-' || text[0] == '+' || text[0] == ' ') ? 1 : 0;
  if (text.size() > lead + 2 && text[lead] == '0' && std::isalpha(static_cast<unsigned char>(text[lead + 1])) != 0)
    lead += 2;
  return text.substr(0, lead) + left + text.substr(lead);
}

// ---- "%s" % values ----

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

// ---- "{}".format(values) ----

class Braces {
 public:
  Braces(Run& run, const Var& format, Args& args) : run_(run), format_(format), args_(args) {}

  Result<Var> result() {
    CALKIT_CHECK_OK(run_.scan(format_.text().size()));
    CALKIT_TRY(auto text, expand(format_.text(), 2));
    return run_.text(std::move(text), format_.markup());
  }

 private:
  Result<std::string> expand(std::string_view text, int levels) {
    if (levels == 0) return fault("braces nested too deeply in a format");
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const char c = text[at++];
      if (c != '{' && c != '}') {
        out += c;
        continue;
      }
      if (at < text.size() && text[at] == c) {
        out += c;
        ++at;
        continue;
      }
      if (c == '}') return fault("a single '}' in a format");
      const std::size_t end = closing(text, at);
      if (end == std::string_view::npos) return fault("a single '{' in a format");
      CALKIT_TRY(const auto one, field(text.substr(at, end - at), levels));
      CALKIT_CHECK_OK(run_.charge(one.size()));
      out += one;
      at = end + 1;
    }
    return out;
  }

  static std::size_t closing(std::string_view text, std::size_t at) {
    for (int open = 1; at < text.size(); ++at) {
      open += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
      if (open == 0) return at;
    }
    return std::string_view::npos;
  }

  Result<std::string> field(std::string_view field, int levels) {
    const std::size_t name_end = std::min(field.find_first_of("!:"), field.size());
    CALKIT_TRY(Var value, lookup(field.substr(0, name_end)));
    std::string_view rest = field.substr(name_end);
    if (rest.starts_with('!')) {
      const char how = rest.size() > 1 ? rest[1] : ' ';
      if (how != 'r' && how != 's') return fault("a conversion other than !r and !s in a format; not supported");
      CALKIT_TRY(auto text, how == 'r' ? repr(run_, value) : str(run_, value));
      value = Var::text(std::move(text));
      rest.remove_prefix(2);
      if (!rest.empty() && rest[0] != ':') return fault("a conversion in a format that ':' does not follow");
    }
    if (rest.starts_with(':')) rest.remove_prefix(1);
    std::string spec(rest);
    if (rest.find('{') != std::string_view::npos) {
      CALKIT_TRY(spec, expand(rest, levels - 1));
    }
    return formatted(value, spec);
  }

  Result<Var> first(std::string_view name) {
    std::int64_t index = 0;
    if (name.empty()) {
      if (next_ < 0) return fault("numbered and unnumbered fields in one format");
      index = next_++;
    } else if (name.find_first_not_of("0123456789") == std::string_view::npos) {
      if (next_ > 0) return fault("numbered and unnumbered fields in one format");
      next_ = -1;
      if (std::from_chars(name.data(), name.data() + name.size(), index).ec != std::errc()) index = INT64_MAX;
    } else {
      for (const auto& [known, value] : args_.named)
        if (known == name) return value;
      return fault(fmt::format("the format names '{}', which is not given", name));
    }
    if (index >= static_cast<std::int64_t>(args_.positional.size()))
      return fault(fmt::format("the format wants argument {}, {} are given", index, args_.positional.size()));
    return args_.positional[static_cast<std::size_t>(index)];
  }

  Result<Var> lookup(std::string_view path) {
    const std::size_t end = std::min(path.find_first_of(".["), path.size());
    CALKIT_TRY(Var value, first(path.substr(0, end)));
    path.remove_prefix(end);
    while (!path.empty()) {
      if (path[0] == '[') {
        const std::size_t close = path.find(']');
        if (close == std::string_view::npos || close == 1) return fault("an unfinished '[' in a format");
        const std::string_view key = path.substr(1, close - 1);
        std::int64_t index = 0;
        const bool number = key.find_first_not_of("0123456789") == std::string_view::npos;
        if (number && std::from_chars(key.data(), key.data() + key.size(), index).ec != std::errc()) index = INT64_MAX;
        CALKIT_TRY(value, item_of(run_, value, number ? Var::integer(index) : Var::text(std::string(key))));
        path.remove_prefix(close + 1);
      } else if (path[0] == '.') {
        const std::size_t stop = std::min(path.find_first_of(".[", 1), path.size());
        CALKIT_TRY(value, attribute_of(run_, value, std::string(path.substr(1, stop - 1))));
        path.remove_prefix(stop);
      } else {
        return fault("'.' or '[' must follow ']' in a format");
      }
    }
    return value;
  }

  Result<Spec> parse_spec(std::string_view text) {
    Spec spec;
    std::size_t at = 0;
    const auto is_align = [&](std::size_t i) {
      return i < text.size() && std::string_view("<>=^").find(text[i]) != std::string_view::npos;
    };
    const std::size_t fill = text.empty() ? 0 : code_point_at(text, 0).bytes;
    if (fill > 0 && is_align(fill)) {
      spec.fill = std::string(text.substr(0, fill));
      spec.align = text[fill];
      at = fill + 1;
    } else if (is_align(0)) {
      spec.align = text[at++];
    }
    if (at < text.size() && std::string_view("+- ").find(text[at]) != std::string_view::npos) spec.sign = text[at++];
    if (at < text.size() && text[at] == '#') spec.alternate = ++at != 0;
    if (at < text.size() && text[at] == '0') {
      ++at;
      if (spec.align == 0) spec.zero = true;
      if (spec.align != 0 && spec.fill == " " && !is_align(fill)) spec.fill = "0";
    }
    CALKIT_TRY(spec.width, digits(text, at));
    if (at < text.size() && text[at] == ',') spec.comma = ++at != 0;
    if (at < text.size() && text[at] == '.') {
      const std::size_t before = ++at;
      CALKIT_TRY(spec.precision, digits(text, at));
      if (at == before) return fault("a format without the digits of its precision");
    }
    if (at < text.size()) spec.type = text[at++];
    if (at != text.size()) return fault(fmt::format("the format '{}'; not supported", std::string(text).substr(0, 40)));
    return spec;
  }

  Result<std::string> formatted(const Var& value, const std::string& text) {
    CALKIT_TRY(Spec spec, parse_spec(text));
    if (text.empty()) {
      CALKIT_TRY(auto out, str(run_, value));
      return format_.markup() && !value.markup() ? escape_html(out) : out;
    }
    if (format_.markup()) return fault("a format with a specification on escaped text; not supported");
    if (value.is(Kind::kString)) {
      if ((spec.type != 0 && spec.type != 's') || spec.align == '=' || spec.sign != '-' || spec.alternate || spec.comma)
        return fault(fmt::format("the format '{}' of a string", text.substr(0, 40)));
      std::string out = value.text();
      if (spec.precision >= 0) out = out.substr(0, byte_of(out, static_cast<std::size_t>(spec.precision)));
      if (spec.zero) spec.fill = "0";
      spec.zero = false;
      return padded(run_, out, spec, '<');
    }
    if (!value.is_number()) return fault(fmt::format("a format with a specification of a '{}'", type_name(value)));
    const bool as_integer =
        value.is_integer() && (spec.type == 0 || std::string_view("dxXob").find(spec.type) != std::string_view::npos);
    if (value.is(Kind::kBool) && spec.type == 0) return fault("a format with a specification of a bool; not supported");
    if (as_integer) {
      if (spec.precision >= 0) return fault("a precision in the format of an integer");
      std::string body = integer_digits(value.integer(), spec.type == 0 ? 'd' : spec.type, spec.alternate);
      if (spec.comma && spec.zero) return fault("zeros and commas in one format; not supported");
      if (spec.comma) body = grouped(std::move(body));
      return padded(run_, signed_text(value.integer() < 0, spec.sign, std::move(body)), spec, '>');
    }
    if (spec.alternate || (spec.comma && spec.zero))
      return fault(fmt::format("the format '{}'; not supported", text.substr(0, 40)));
    std::string body;
    if (spec.type == 0) {
      if (spec.precision >= 0) return fault("a precision without a letter in a format; not supported");
      body = float_text(std::abs(value.real()));
    } else {
      CALKIT_TRY(body, real_digits(value.real(), spec.type, spec.precision));
    }
    if (spec.comma) body = grouped(std::move(body));
    return padded(run_, signed_text(std::signbit(value.real()), spec.sign, std::move(body)), spec, '>');
  }

  Run& run_;
  const Var& format_;
  Args& args_;
  std::int64_t next_ = 0;
};

}  // namespace

Result<Var> percent_format(Run& run, const Var& format, const Var& values) {
  return Percent(run, format, values).result();
}

Result<Var> brace_format(Run& run, const Var& format, Args& args) {
  return Braces(run, format, args).result();
}

}  // namespace calkit::jinja
