#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "calkit/base/unicode.h"
#include "ops.h"
#include "unicode.h"

namespace calkit::jinja {
namespace {

void append_quoted(std::string& out, std::string_view text) {
  const bool single = text.find('\'') != std::string_view::npos;
  const char quote = single && text.find('"') == std::string_view::npos ? '"' : '\'';
  out += quote;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    const auto value = static_cast<std::uint32_t>(c.value);
    if (value == static_cast<std::uint32_t>(quote) || value == '\\') {
      out += '\\';
      out += static_cast<char>(value);
    } else if (value == '\n' || value == '\r' || value == '\t') {
      out += value == '\n' ? "\\n" : value == '\r' ? "\\r" : "\\t";
    } else if (is_printable(c.value)) {
      out += text.substr(i, c.bytes);
    } else {
      out += value < 0x100     ? fmt::format("\\x{:02x}", value)
             : value < 0x10000 ? fmt::format("\\u{:04x}", value)
                               : fmt::format("\\U{:08x}", value);
    }
    i += c.bytes;
  }
  out += quote;
}

class Writer {
 public:
  explicit Writer(Run& run) : run_(run) {}

  Status write(const Var& value) {
    Run::Deeper deeper(run_);
    CALKIT_CHECK_OK(run_.check_nesting());
    CALKIT_CHECK_OK(run_.step());
    const std::size_t before = out.size();
    switch (value.kind()) {
      case Kind::kString:
        if (value.markup()) out += "Markup(";
        CALKIT_CHECK_OK(run_.scan(value.text().size()));
        append_quoted(out, value.text());
        if (value.markup()) out += ")";
        break;
      case Kind::kList:
        CALKIT_CHECK_OK(sequence(value.items(), '[', ']'));
        break;
      case Kind::kTuple:
        CALKIT_CHECK_OK(sequence(value.items(), '(', ')'));
        break;
      case Kind::kDict:
        CALKIT_CHECK_OK(dict(value.dict()));
        break;
      case Kind::kView:
        CALKIT_CHECK_OK(view(value));
        break;
      case Kind::kNamespace:
        out += "<Namespace ";
        CALKIT_CHECK_OK(dict(value.name_space().values));
        out += ">";
        break;
      case Kind::kUndefined:
        out += "Undefined";
        break;
      default:
        CALKIT_CHECK_OK(scalar(value));
    }
    return run_.charge(out.size() - before);
  }
  std::string out;

 private:
  Status scalar(const Var& value) {
    switch (value.kind()) {
      case Kind::kNone:
        out += "None";
        return {};
      case Kind::kBool:
        out += value.boolean() ? "True" : "False";
        return {};
      case Kind::kInt:
        out += std::to_string(value.integer());
        return {};
      case Kind::kFloat:
        out += float_text(value.real());
        return {};
      case Kind::kMacro:
        out += fmt::format("<Macro {}>", value.macro().routine->name.empty()
                                             ? "anonymous"
                                             : fmt::format("'{}'", value.macro().routine->name));
        return {};
      case Kind::kRange: {
        const Range& r = value.range();
        const auto stop = r.stop;
        out += r.step == 1 ? fmt::format("range({}, {})", r.start, stop)
                           : fmt::format("range({}, {}, {})", r.start, stop, r.step);
        return {};
      }
      default:
        return fault(fmt::format("a '{}' as text: Jinja would print an address in memory", type_name(value)));
    }
  }
  Status sequence(const std::vector<Var>& items, char open, char close) {
    out += open;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out += ", ";
      CALKIT_CHECK_OK(write(items[i]));
    }
    if (open == '(' && items.size() == 1) out += ',';
    out += close;
    return {};
  }
  Status dict(const Dict& dict) {
    out += '{';
    bool first = true;
    for (const auto& [key, value] : dict.items) {
      if (!first) out += ", ";
      first = false;
      CALKIT_CHECK_OK(write(key));
      out += ": ";
      CALKIT_CHECK_OK(write(value));
    }
    out += '}';
    return {};
  }
  Status view(const Var& value) {
    out += fmt::format("{}([", type_name(value));
    for (std::size_t i = 0; i < value.view().size(); ++i) {
      if (i > 0) out += ", ";
      CALKIT_CHECK_OK(write(value.view().at(i)));
    }
    out += "])";
    return {};
  }

  Run& run_;
};

}  // namespace

// Shortest digits that read back the same, laid out as Python's repr does.
std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  std::string out;
  if (text.front() == '-') {
    out = "-";
    text.remove_prefix(1);
  }
  const std::size_t e = text.find('e');
  std::string digits(text.substr(0, e));
  if (const std::size_t dot = digits.find('.'); dot != std::string::npos) digits.erase(dot, 1);
  const int exponent = std::stoi(std::string(text.substr(e + 1)));
  const auto count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    out += digits.substr(0, 1);
    if (count > 1) out += "." + digits.substr(1);
    return out + fmt::format("e{}{:02d}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) return out + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1)
    return out + digits + std::string(static_cast<std::size_t>(exponent + 1 - count), '0') + ".0";
  return out + digits.substr(0, static_cast<std::size_t>(exponent) + 1) + "." +
         digits.substr(static_cast<std::size_t>(exponent) + 1);
}

Result<std::string> repr(Run& run, const Var& value) {
  Writer writer(run);
  CALKIT_CHECK_OK(writer.write(value));
  return std::move(writer.out);
}

Result<std::string> str(Run& run, const Var& value) {
  if (value.is(Kind::kString)) {
    CALKIT_CHECK_OK(run.scan(value.text().size()));
    return value.text();
  }
  if (value.is(Kind::kUndefined)) return std::string();
  if (value.is(Kind::kLoop)) {
    Loop& loop = value.loop();
    CALKIT_TRY(const auto length, loop.attribute(run, "length", value));
    return fmt::format("<LoopContext {}/{}>", loop.index0 + 1, length.integer());
  }
  return repr(run, value);
}

Result<Var> soft_str(Run& run, const Var& value) {
  if (value.is(Kind::kString)) return value;
  CALKIT_TRY(auto text, str(run, value));
  return run.text(std::move(text));
}

Result<Var> markup_of(Run& run, const Var& value) {
  if (value.markup()) return value;
  CALKIT_TRY(const auto text, str(run, value));
  return run.text(escape_html(text), true);
}

}  // namespace calkit::jinja
