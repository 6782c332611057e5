// "{}".format(values)
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "calkit/base/unicode.h"
#include "format_parts.h"
#include "unicode.h"

namespace calkit::jinja {
namespace {

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

Result<Var> brace_format(Run& run, const Var& format, Args& args) {
  return Braces(run, format, args).result();
}

}  // namespace calkit::jinja
