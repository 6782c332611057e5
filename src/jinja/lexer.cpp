#include "lexer.h"

#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/text.h"
#include "calkit/base/unicode.h"
#include "escapes.h"
#include "unicode.h"

namespace calkit::jinja {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_name_byte(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Line feeds for every kind of line end, and without the last one.
std::string normalized(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
    out += source[i] == '\r' ? '\n' : source[i];
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  Lexer(std::string_view source, const std::string& file) : source_(normalized(source)), text_(source_), file_(file) {}

  Result<std::vector<Token>> run() {
    while (at_ < text_.size()) CALKIT_CHECK_OK(root());
    push(Tok::kEnd, {});
    return std::move(tokens_);
  }

 private:
  bool starts(std::string_view word) const { return text_.substr(at_).starts_with(word); }
  Error error(const std::string& message) const { return template_error(file_, line_, message); }
  void push(Tok kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }

  // Everything up to `end` is passed; its line feeds count.
  void advance(std::size_t end) {
    if (end > at_) line_starting_ = text_[end - 1] == '\n';
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         text_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    at_ = end;
  }

  std::size_t after_space(std::size_t at) const {
    while (at < text_.size()) {
      const CodePoint c = code_point_at(text_, at);
      if (!is_space(c.value)) break;
      at += c.bytes;
    }
    return at;
  }

  // The end of `%}` and the like at `at`, with the white space that it takes along; 0 if there is none.
  std::size_t tag_end(std::size_t at, std::string_view end, bool trims, bool takes_plus) const {
    const std::string_view rest = text_.substr(at);
    if (rest.starts_with('-') && rest.substr(1).starts_with(end)) return after_space(at + 1 + end.size());
    if (takes_plus && rest.starts_with('+') && rest.substr(1).starts_with(end)) return at + 1 + end.size();
    if (!rest.starts_with(end)) return 0;
    at += end.size();
    return trims && at < text_.size() && text_[at] == '\n' ? at + 1 : at;
  }

  // Data in front of a tag: what `-`, or lstrip_blocks without `+`, leaves of it.
  void data(std::string_view data, char sign, bool block) {
    std::string_view kept = data;
    if (sign == '-') {
      kept = rstrip(data);
    } else if (sign != '+' && block) {
      const std::size_t line_feed = data.rfind('\n');
      const std::size_t begin = line_feed == std::string_view::npos ? 0 : line_feed + 1;
      if ((begin > 0 || line_starting_) && lstrip(data.substr(begin)).empty()) kept = data.substr(0, begin);
    }
    if (!kept.empty()) push(Tok::kData, std::string(kept));
  }

  std::size_t next_tag() const {
    for (std::size_t at = text_.find('{', at_); at != std::string_view::npos; at = text_.find('{', at + 1))
      if (at + 1 < text_.size() && std::string_view("%{#").find(text_[at + 1]) != std::string_view::npos) return at;
    return std::string_view::npos;
  }

  Status root() {
    const std::size_t tag = next_tag();
    if (tag == std::string_view::npos) {
      push(Tok::kData, std::string(text_.substr(at_)));
      advance(text_.size());
      return {};
    }
    const char kind = text_[tag + 1];
    const char sign = tag + 2 < text_.size() && (text_[tag + 2] == '-' || text_[tag + 2] == '+') ? text_[tag + 2] : ' ';
    data(text_.substr(at_, tag - at_), sign, kind != '{');
    const std::size_t begin = tag + (sign == ' ' ? 2 : 3);
    if (const std::size_t raw = kind == '%' ? raw_begin(begin) : 0; raw != 0) {
      advance(raw);
      return raw_block();
    }
    advance(begin);
    if (kind == '#') return comment();
    push(kind == '%' ? Tok::kBlockBegin : Tok::kVariableBegin, {});
    return inside(kind == '%');
  }

  // The end of `raw %}` at `at`, or 0.
  std::size_t raw_begin(std::size_t at) const {
    at = after_space(at);
    if (!text_.substr(at).starts_with("raw")) return 0;
    at = after_space(at + 3);
    if (text_.substr(at).starts_with("-%}")) return after_space(at + 3);
    return text_.substr(at).starts_with("%}") ? at + 2 : 0;
  }

  Status raw_block() {
    for (std::size_t at = text_.find("{%", at_); at != std::string_view::npos; at = text_.find("{%", at + 1)) {
      std::size_t word = at + 2;
      const char sign = word < text_.size() && (text_[word] == '-' || text_[word] == '+') ? text_[word] : ' ';
      word = after_space(sign == ' ' ? word : word + 1);
      if (!text_.substr(word).starts_with("endraw")) continue;
      const std::size_t end = tag_end(after_space(word + 6), "%}", true, true);
      if (end == 0) continue;
      data(text_.substr(at_, at - at_), sign, true);
      advance(end);
      return {};
    }
    return error("{% raw %} without {% endraw %}");
  }

  Status comment() {
    for (std::size_t at = at_; at < text_.size(); ++at) {
      at = text_.find_first_of("+-#", at);
      if (at == std::string_view::npos) break;
      if (const std::size_t end = tag_end(at, "#}", true, true); end != 0) {
        advance(end);
        return {};
      }
    }
    return error("a comment {# without its #}");
  }

  Status inside(bool block) {
    std::string open;
    while (true) {
      if (open.empty()) {
        const std::size_t end = block ? tag_end(at_, "%}", true, true) : tag_end(at_, "}}", false, false);
        if (end != 0) {
          push(block ? Tok::kBlockEnd : Tok::kVariableEnd, {});
          advance(end);
          return {};
        }
      }
      if (at_ >= text_.size()) return error(block ? "a tag {% without its %}" : "an expression {{ without its }}");
      const std::size_t space = after_space(at_);
      if (space != at_) {
        advance(space);
        continue;
      }
      CALKIT_CHECK_OK(token(open));
    }
  }

  Status token(std::string& open) {
    const char c = text_[at_];
    if (is_digit(c)) return number();
    if (is_name_byte(c)) {
      std::size_t end = at_;
      while (end < text_.size() && is_name_byte(text_[end])) ++end;
      if (end < text_.size() && static_cast<unsigned char>(text_[end]) >= 0x80 &&
          is_alnum(code_point_at(text_, end).value))
        return error("a name with letters beyond ASCII; not supported");
      push(Tok::kName, std::string(text_.substr(at_, end - at_)));
      at_ = end;
      line_starting_ = false;
      return {};
    }
    if (c == '\'' || c == '"') return string(c);
    return op(open);
  }

  Status string(char quote) {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) return error(fmt::format("a string without its closing {}", quote));
    auto text = unescape(text_.substr(at_ + 1, end - at_ - 1));
    if (!text.ok()) return error(text.error().message);
    push(Tok::kString, std::move(*text));
    advance(end + 1);
    return {};
  }

  // The end of \d+ with single underscores between digits.
  std::size_t digits(std::size_t at, std::string_view allowed) const {
    const auto good = [&](std::size_t i) {
      return i < text_.size() && allowed.find(text_[i]) != std::string_view::npos;
    };
    while (good(at) || (at < text_.size() && text_[at] == '_' && good(at + 1))) ++at;
    return at;
  }

  Status number() {
    constexpr std::string_view kDecimal = "0123456789";
    const std::size_t whole = digits(at_, kDecimal);
    std::size_t end = whole;
    if (at_ == 0 || text_[at_ - 1] != '.') {
      if (end + 1 < text_.size() && text_[end] == '.' && is_digit(text_[end + 1])) end = digits(end + 1, kDecimal);
      std::size_t e = end;
      if (e < text_.size() && (text_[e] == 'e' || text_[e] == 'E')) {
        ++e;
        if (e < text_.size() && (text_[e] == '+' || text_[e] == '-')) ++e;
        if (e < text_.size() && is_digit(text_[e])) end = digits(e, kDecimal);
      }
    }
    const bool real = end != whole;
    if (!real && text_[at_] == '0') end = zero();
    std::string text;
    for (const char c : text_.substr(at_, end - at_))
      if (c != '_') text += c;
    push(real ? Tok::kFloat : Tok::kInteger, std::move(text));
    at_ = end;
    line_starting_ = false;
    return {};
  }

  // 0x.., 0o.., 0b.., or zeros: 012 is two numbers, which no grammar rule joins.
  std::size_t zero() const {
    const char kind = at_ + 1 < text_.size() ? static_cast<char>(text_[at_ + 1] | 0x20) : ' ';
    const std::string_view allowed = kind == 'x' ? "0123456789abcdefABCDEF" : kind == 'o' ? "01234567" : "01";
    if (kind == 'x' || kind == 'o' || kind == 'b')
      if (const std::size_t end = digits(at_ + 2, allowed); end != at_ + 2) return end;
    return digits(at_, "0");
  }

  Status op(std::string& open) {
    static constexpr std::string_view kOperators[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                                      "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                      ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};
    const auto found =
        std::find_if(std::begin(kOperators), std::end(kOperators), [&](std::string_view word) { return starts(word); });
    if (found == std::end(kOperators))
      return error(fmt::format("unexpected '{}'", printable(text_.substr(at_, code_point_at(text_, at_).bytes))));
    const char c = found->front();
    if (c == '(' || c == '[' || c == '{') {
      open += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c)
        return error(open.empty() ? fmt::format("unexpected '{}'", c)
                                  : fmt::format("unexpected '{}', expected '{}'", c, open.back()));
      open.pop_back();
    }
    push(Tok::kOperator, std::string(*found));
    at_ += found->size();
    line_starting_ = false;
    return {};
  }

  std::string source_;
  std::string_view text_;
  const std::string& file_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
};

}  // namespace

Result<std::vector<Token>> lex(std::string_view source, const std::string& file) {
  if (const std::size_t bad = invalid_utf8_at(source); bad != std::string_view::npos)
    return template_error(file, 1, fmt::format("byte {} is no UTF-8", bad));
  return Lexer(source, file).run();
}

Error template_error(const std::string& file, int line, const std::string& message, std::string hint) {
  return Error{ErrorKind::kInput, fmt::format("{}:{}: {}", file, line, printable(message, 2000)), std::move(hint)};
}

}  // namespace calkit::jinja
