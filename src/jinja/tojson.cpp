#include <fmt/format.h>

#include <cmath>

#include "calkit/base/unicode.h"
#include "filters.h"

namespace calkit::jinja {
namespace {

// Python's json.dumps.
class JsonWriter {
 public:
  JsonWriter(Run& run, bool ascii, bool sorted) : run_(run), ascii_(ascii), sorted_(sorted) {}
  bool pretty = false;
  std::string indent, comma = ", ", colon = ": ", out;

  Status write(const Var& value, std::uint32_t level) {
    Run::Deeper deeper(run_);
    CALKIT_CHECK_OK(run_.check_nesting());
    CALKIT_CHECK_OK(run_.step());
    const std::size_t before = out.size();
    switch (value.kind()) {
      case Kind::kNone:
        out += "null";
        break;
      case Kind::kBool:
        out += value.boolean() ? "true" : "false";
        break;
      case Kind::kInt:
        out += std::to_string(value.integer());
        break;
      case Kind::kFloat:
        real(value.real());
        break;
      case Kind::kString:
        CALKIT_CHECK_OK(run_.scan(value.text().size()));
        string(value.text());
        break;
      case Kind::kList:
      case Kind::kTuple:
        return list(value.items(), level);
      case Kind::kDict:
        return dict(value.dict(), level);
      default:
        return fault(fmt::format("tojson: Object of type {} is not JSON serializable", type_name(value)));
    }
    return run_.charge(out.size() - before);
  }

 private:
  void real(double value) {
    out += std::isnan(value) ? "NaN" : std::isinf(value) ? (value < 0 ? "-Infinity" : "Infinity") : float_text(value);
  }

  void unit(std::uint32_t value) { out += fmt::format("\\u{:04x}", value); }

  void string(std::string_view text) {
    out += '"';
    for (std::size_t i = 0; i < text.size();) {
      const CodePoint c = code_point_at(text, i);
      const auto value = static_cast<std::uint32_t>(c.value);
      static constexpr std::string_view kEscaped = "\"\\\n\r\t\f\b", kLetters = "\"\\nrtfb";
      const std::size_t known = value < 0x80 ? kEscaped.find(static_cast<char>(value)) : std::string_view::npos;
      if (known != std::string_view::npos) {
        out += '\\';
        out += kLetters[known];
      } else if (value < 0x20 || (ascii_ && value > 0x7E && value < 0x10000)) {
        unit(value);
      } else if (ascii_ && value >= 0x10000) {
        unit(0xD800 + ((value - 0x10000) >> 10));
        unit(0xDC00 + ((value - 0x10000) & 0x3FF));
      } else {
        out += text.substr(i, c.bytes);
      }
      i += c.bytes;
    }
    out += '"';
  }

  Status line(std::uint32_t level) {
    if (!pretty) return {};
    CALKIT_CHECK_OK(run_.charge(1 + level * indent.size()));
    out += '\n';
    for (std::uint32_t i = 0; i < level; ++i) out += indent;
    return {};
  }

  Status list(const std::vector<Var>& items, std::uint32_t level) {
    out += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      CALKIT_CHECK_OK(run_.charge(comma.size()));
      if (i > 0) out += comma;
      CALKIT_CHECK_OK(line(level + 1));
      CALKIT_CHECK_OK(write(items[i], level + 1));
    }
    if (!items.empty()) CALKIT_CHECK_OK(line(level));
    out += ']';
    return {};
  }

  Result<std::string> key_text_of(const Var& key) {
    switch (key.kind()) {
      case Kind::kString:
        return key.text();
      case Kind::kNone:
        return std::string("null");
      case Kind::kBool:
        return std::string(key.boolean() ? "true" : "false");
      case Kind::kInt:
        return std::to_string(key.integer());
      case Kind::kFloat:
        return float_text(key.real());
      default:
        return fault(fmt::format("tojson: a key of type {}", type_name(key)));
    }
  }

  Status dict(const Dict& dict, std::uint32_t level) {
    std::vector<Var> order, keys;
    for (std::size_t i = 0; i < dict.items.size(); ++i) {
      order.push_back(Var::integer(static_cast<std::int64_t>(i)));
      keys.push_back(dict.items[i].first);
    }
    if (sorted_) {
      CALKIT_TRY(order, calkit::jinja::sorted(run_, std::move(order), std::move(keys), false));
    }
    out += '{';
    bool first = true;
    for (const Var& at : order) {
      const auto& [key, value] = dict.items[static_cast<std::size_t>(at.integer())];
      CALKIT_CHECK_OK(run_.charge(comma.size() + colon.size()));
      if (!first) out += comma;
      first = false;
      CALKIT_CHECK_OK(line(level + 1));
      CALKIT_TRY(const auto name, key_text_of(key));
      CALKIT_CHECK_OK(run_.scan(name.size()));
      CALKIT_CHECK_OK(run_.charge(name.size()));
      string(name);
      out += colon;
      CALKIT_CHECK_OK(write(value, level + 1));
    }
    if (!dict.items.empty()) CALKIT_CHECK_OK(line(level));
    out += '}';
    return {};
  }

  Run& run_;
  bool ascii_, sorted_;
};

}  // namespace

Result<std::string> to_json_text(Run& run, const Var& value, bool ascii, const Var& indent, const Var& separators,
                                 bool sorted) {
  JsonWriter writer(run, ascii, sorted);
  if (indent.is(Kind::kUndefined)) return need_value(indent);
  writer.pretty = !indent.is(Kind::kNone);
  if (indent.is(Kind::kString)) {
    writer.indent = indent.text();
  } else if (writer.pretty) {
    CALKIT_TRY(const std::int64_t width, want_int(indent, "tojson"));
    CALKIT_CHECK_OK(run.charge(width > 0 ? static_cast<std::uint64_t>(width) : 0));
    writer.indent = std::string(width > 0 ? static_cast<std::size_t>(width) : 0, ' ');
  }
  if (writer.pretty) writer.comma = ",";
  if (!separators.is(Kind::kNone)) {
    CALKIT_TRY(const auto two, collect(run, separators));
    if (two.size() != 2 || !two[0].is(Kind::kString) || !two[1].is(Kind::kString))
      return fault("tojson: separators must be two strings");
    writer.comma = two[0].text();
    writer.colon = two[1].text();
  }
  CALKIT_CHECK_OK(writer.write(value, 0));
  return std::move(writer.out);
}

}  // namespace calkit::jinja
