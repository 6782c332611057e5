#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "calkit/base/document.h"
#include "calkit/base/text.h"

namespace calkit {
namespace {

class JsonWriter {
 public:
  explicit JsonWriter(const WriteStyle& style) : style_(style) {}

  void write(const Value& value, int level) {
    if (value.is_null()) {
      out_ += "null";
    } else if (const bool* flag = value.if_bool()) {
      out_ += *flag ? "true" : "false";
    } else if (const auto number = value.if_int()) {
      out_ += std::to_string(*number);
    } else if (const auto large = value.if_uint()) {
      out_ += std::to_string(*large);
    } else if (value.is_double()) {
      write_double(*value.if_number());
    } else if (const std::string* text = value.if_string()) {
      write_string(*text);
    } else if (const Value::Array* items = value.if_array()) {
      write_array(*items, level);
    } else {
      write_object(*value.if_object(), level);
    }
  }
  std::string take() { return std::move(out_); }

 private:
  void write_double(double number) {
    if (!std::isfinite(number)) {
      out_ += "null";
      return;
    }
    std::array<char, 32> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
    const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
    out_ += text;
    // "3" would come back as an integer.
    if (text.find_first_of(".e") == std::string_view::npos) out_ += ".0";
  }

  void write_string(std::string_view text) {
    out_ += '"';
    std::size_t bad = invalid_utf8_at(text);
    while (bad != std::string_view::npos) {  // a path or an argument may be any bytes; JSON may not
      write_valid(text.substr(0, bad));
      out_ += "\xEF\xBF\xBD";
      text.remove_prefix(bad + 1);
      bad = invalid_utf8_at(text);
    }
    write_valid(text);
    out_ += '"';
  }
  void write_valid(std::string_view text) {
    const auto is_plain = [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\'; };
    for (auto from = text.begin(); from != text.end();) {
      const auto to = std::find_if_not(from, text.end(), is_plain);
      out_.append(from, to);
      if (to == text.end()) break;
      from = to + 1;
      switch (const char c = *to) {
        case '"':
          out_ += "\\\"";
          break;
        case '\\':
          out_ += "\\\\";
          break;
        case '\n':
          out_ += "\\n";
          break;
        case '\r':
          out_ += "\\r";
          break;
        case '\t':
          out_ += "\\t";
          break;
        default:
          out_ += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
      }
    }
  }

  void new_line(int level) {
    if (style_.indent < 0) return;
    out_ += '\n';
    out_.append(static_cast<std::size_t>(level) * static_cast<std::size_t>(style_.indent), ' ');
  }
  void write_array(const Value::Array& items, int level) {
    // Lists of numbers (shapes, token ids) stay on one line.
    const bool flat = std::none_of(items.begin(), items.end(), [](const Value& item) {
      return item.is_array() || item.is_object() || item.is_string();
    });
    out_ += '[';
    bool first = true;
    for (const Value& item : items) {
      if (!first) out_ += flat && style_.indent >= 0 ? ", " : ",";
      if (!flat) new_line(level + 1);
      first = false;
      write(item, level + 1);
    }
    if (!flat) new_line(level);
    out_ += ']';
  }
  void write_object(const Value::Object& members, int level) {
    std::vector<const Value::Member*> order;
    order.reserve(members.size());
    for (const Value::Member& member : members) order.push_back(&member);
    if (style_.sorted) {
      std::stable_sort(order.begin(), order.end(),
                       [](const Value::Member* a, const Value::Member* b) { return a->first < b->first; });
    }
    out_ += '{';
    bool first = true;
    for (const Value::Member* member : order) {
      if (!first) out_ += ',';
      first = false;
      new_line(level + 1);
      write_string(member->first);
      out_ += style_.indent < 0 ? ":" : ": ";
      write(member->second, level + 1);
    }
    if (!members.empty()) new_line(level);
    out_ += '}';
  }

  WriteStyle style_;
  std::string out_;
};

}  // namespace

std::string to_json(const Value& value, const WriteStyle& style) {
  JsonWriter writer(style);
  writer.write(value, 0);
  return writer.take();
}

}  // namespace calkit
