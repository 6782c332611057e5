#include <fmt/format.h>

#include <cctype>
#include <optional>

#include "tokenizer_charset.h"
#include "tokenizer_regex.h"

namespace calkit::hf {
namespace {

constexpr std::size_t kMaxPattern = 16 * 1024;
constexpr int kMaxDepth = 50;
constexpr std::uint32_t kMaxRepeat = 1000;

bool is_ascii_letter(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_ascii_digit(char32_t c) {
  return c >= '0' && c <= '9';
}

// Walks an Oniguruma pattern (Ruby syntax) once. Whatever the two engines read differently is refused.
class Translator {
 public:
  Translator(std::string_view pattern, const Cursor& at) : in_(pattern), at_(at) {}

  Result<std::string> run() {
    if (in_.size() > kMaxPattern)
      return at_.error(fmt::format("a pattern of {} bytes", in_.size()), fmt::format("at most {} bytes", kMaxPattern));
    CALKIT_CHECK_OK(alternatives(0, false));
    if (!done()) return refuse("a ')' without its '('", pos_);
    return std::move(out_);
  }

 private:
  bool done() const { return pos_ >= in_.size(); }
  char peek(std::size_t ahead = 0) const { return pos_ + ahead < in_.size() ? in_[pos_ + ahead] : '\0'; }
  bool take(std::string_view text) {
    if (in_.substr(pos_, text.size()) != text) return false;
    pos_ += text.size();
    return true;
  }
  Error refuse(std::string_view what, std::size_t where) const {
    return at_.error(fmt::format("{} at byte {} of the pattern", what, where),
                     "the part of the pattern syntax that calkit and the peer read alike",
                     "docs/formats/tokenizer.md lists what a pattern may use");
  }

  Status alternatives(int depth, bool caseless) {
    if (depth > kMaxDepth) return refuse(fmt::format("groups nested deeper than {}", kMaxDepth), pos_);
    while (!done() && peek() != ')') {
      if (take("|")) {
        out_ += '|';
        last_literal_ = 0;
        continue;
      }
      CALKIT_CHECK_OK(atom(depth, caseless));
      CALKIT_CHECK_OK(quantifier());
    }
    return {};
  }

  Status atom(int depth, bool caseless) {
    const std::size_t where = pos_;
    switch (peek()) {
      case '(':
        return group(depth, caseless);
      case '[':
        return char_class(caseless);
      case '.':
        ++pos_;
        last_literal_ = 0;
        out_ += "[^\\n]";
        return {};
      case '^':
      case '$':
        return refuse(fmt::format("the anchor '{}'", peek()), where);
      case '*':
      case '+':
      case '?':
      case '{':
        return refuse(fmt::format("'{}' with nothing to repeat", peek()), where);
      case '\\': {
        CALKIT_TRY(const auto item, escape());
        if (item.set) {
          if (caseless) return refuse("a class of characters inside (?i:...)", where);
          out_ += item.set->pcre(false);
          last_literal_ = 0;
          return {};
        }
        return literal(item.value, caseless, where);
      }
      default: {
        const auto c = code_point_at(in_, pos_);
        pos_ += c.bytes;
        return literal(c.value, caseless, where);
      }
    }
  }

  // Oniguruma also folds "ss" with U+00DF and the like inside (?i:...), PCRE2 does not: such neighbours are refused.
  Status literal(char32_t c, bool caseless, std::size_t where) {
    if (caseless) {
      if (c >= 0x80) return refuse("a character beyond ASCII inside (?i:...)", where);
      const auto lower = [](char32_t x) { return static_cast<char>(x >= 'A' && x <= 'Z' ? x + 32 : x); };
      const std::string pair = {lower(last_literal_), lower(c)};
      for (const std::string_view folded : {"ss", "ff", "fi", "fl", "st"})
        if (pair == folded)
          return refuse(fmt::format("\"{}\" inside (?i:...), which folds to one character", pair), where);
    }
    last_literal_ = c;
    out_ += fmt::format("\\x{{{:x}}}", static_cast<std::uint32_t>(c));
    return {};
  }

  Status group(int depth, bool caseless) {
    const std::size_t where = pos_;
    bool inner_caseless = caseless;
    last_literal_ = 0;
    if (take("(?i:")) {
      inner_caseless = true;
      out_ += "(?i:";
    } else if (take("(?:")) {
      out_ += "(?:";
    } else if (take("(?=") || take("(?!") || take("(?>") || take("(?<=") || take("(?<!")) {
      out_ += in_.substr(where, pos_ - where);
    } else if (peek(1) != '?' && peek(1) != '*') {
      ++pos_;
      out_ += "(?:";  // nothing can refer to a capture
    } else {
      return refuse(fmt::format("a group that begins with '{}'", in_.substr(where, 3)), where);
    }
    CALKIT_CHECK_OK(alternatives(depth + 1, inner_caseless));
    if (!take(")")) return refuse("a '(' without its ')'", where);
    out_ += ')';
    last_literal_ = 0;
    return {};
  }

  Status quantifier() {
    const std::size_t where = pos_;
    const char c = peek();
    if (c == '?' || c == '*' || c == '+') {
      ++pos_;
      out_ += c;
      if (peek() == '?' || peek() == '+') out_ += in_[pos_++];  // lazy, possessive
    } else if (c == '{') {
      CALKIT_CHECK_OK(interval());
    } else {
      return {};
    }
    last_literal_ = 0;
    const char next = peek();
    if (next == '?' || next == '*' || next == '+' || next == '{') return refuse("a quantifier on a quantifier", where);
    return {};
  }

  Status interval() {
    const std::size_t where = pos_++;
    const auto number = [&]() -> std::optional<std::uint32_t> {
      const std::size_t start = pos_;
      std::uint32_t value = 0;
      while (is_ascii_digit(static_cast<unsigned char>(peek())) && pos_ - start < 6)
        value = value * 10 + static_cast<std::uint32_t>(in_[pos_++] - '0');
      return pos_ == start ? std::nullopt : std::optional(value);
    };
    const auto low = number();
    const bool comma = take(",");
    const auto high = comma ? number() : low;
    if (!low || !take("}")) return refuse("a '{' that begins no {n}, {n,} or {n,m}", where);
    if (*low > kMaxRepeat || (high && *high > kMaxRepeat))
      return refuse(fmt::format("a repetition of more than {}", kMaxRepeat), where);
    if (high && *high < *low) return refuse("a repetition {n,m} with n above m", where);
    out_ += !comma ? fmt::format("{{{}}}", *low)
            : high ? fmt::format("{{{},{}}}", *low, *high)
                   : fmt::format("{{{},}}", *low);
    if (comma && peek() == '?') out_ += in_[pos_++];  // lazy; {n}? and {n,m}+ mean other things in the two engines
    return {};
  }

  // What one escape or one plain character of a class stands for.
  struct Item {
    char32_t value = 0;
    std::optional<CharSet> set;
  };

  Result<Item> escape() {
    const std::size_t where = pos_++;
    if (done()) return refuse("a '\\' at the end", where);
    const auto c = code_point_at(in_, pos_);
    pos_ += c.bytes;
    switch (c.value) {
      case 'p':
      case 'P':
        return property(c.value == 'P', where);
      case 'n':
        return Item{'\n', {}};
      case 'r':
        return Item{'\r', {}};
      case 't':
        return Item{'\t', {}};
      case 'f':
        return Item{'\f', {}};
      case 'v':
        return Item{'\v', {}};
      case 'x':
      case 'u':
        return hex(c.value == 'u', where);
      default:
        break;
    }
    if (c.value < 0x80)
      if (auto set = shorthand_set(static_cast<char>(c.value))) return Item{0, std::move(set)};
    if (is_ascii_letter(c.value) || is_ascii_digit(c.value))
      return refuse(fmt::format("the escape '\\{}'", static_cast<char>(c.value)), where);
    return Item{c.value, {}};
  }

  Result<Item> property(bool negated, std::size_t where) {
    const std::size_t end = in_.find('}', pos_);
    if (peek() != '{' || end == std::string_view::npos) return refuse("a \\p without {NAME}", where);
    std::string_view name = in_.substr(pos_ + 1, end - pos_ - 1);
    pos_ = end + 1;
    if (name.starts_with('^')) {
      negated = !negated;
      name.remove_prefix(1);
    }
    auto set = property_set(name);
    if (!set) return refuse(fmt::format("the property \\p{{{}}}", name.substr(0, 40)), where);
    return Item{0, negated ? set->complement() : *set};
  }

  Result<Item> hex(bool four, std::size_t where) {
    const bool braces = !four && take("{");
    const std::size_t most = four ? 4 : braces ? 8 : 2;
    std::uint32_t value = 0;
    std::size_t digits = 0;
    while (digits < most && !done() && std::isxdigit(static_cast<unsigned char>(peek())) != 0) {
      const char c = in_[pos_++];
      value = value * 16 + static_cast<std::uint32_t>(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
      ++digits;
    }
    if (digits == 0 || (four && digits != 4) || (braces && !take("}")))
      return refuse("a hexadecimal escape cut short", where);
    // \xHH is a byte for Oniguruma, so only the ASCII ones are code points.
    if (!braces && !four && value >= 0x80) return refuse("the escape of a single byte beyond ASCII", where);
    if (value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return refuse("an escape of no character", where);
    return Item{value, {}};
  }

  Result<Item> class_item(std::size_t where) {
    if (peek() == '\\') return escape();
    if (peek() == '[') return refuse("a class inside a class", where);
    if (peek() == '&' && peek(1) == '&') return refuse("an intersection '&&'", where);
    const auto c = code_point_at(in_, pos_);
    pos_ += c.bytes;
    return Item{c.value, {}};
  }

  Status char_class(bool caseless) {
    const std::size_t start = pos_++;
    const bool negated = take("^");
    if (peek() == ']') return refuse("an empty class", start);
    CharSet set;
    while (!done() && peek() != ']') {
      const std::size_t where = pos_;
      CALKIT_TRY(const auto item, class_item(where));
      const bool range = peek() == '-' && peek(1) != ']' && pos_ + 1 < in_.size();
      if (item.set) {
        if (range) return refuse("a range that begins with a class", where);
        set.add(*item.set);
      } else if (range) {
        ++pos_;
        CALKIT_TRY(const auto last, class_item(pos_));
        if (last.set || last.value < item.value) return refuse("a range that ends before it begins", where);
        if (item.value < 0xd800 && last.value > 0xdfff) return refuse("a range across the surrogates", where);
        set.add(item.value, last.value);
      } else {
        set.add(item.value, item.value);
      }
    }
    if (!take("]")) return refuse("a '[' without its ']'", start);
    if (caseless && (negated || !set.ascii_only()))
      return refuse("a negated class, or one beyond ASCII, inside (?i:...)", start);
    out_ += set.pcre(negated);
    last_literal_ = 0;
    return {};
  }

  std::string_view in_;
  const Cursor& at_;
  std::size_t pos_ = 0;
  std::string out_;
  char32_t last_literal_ = 0;
};

}  // namespace

Result<std::string> translate_pattern(std::string_view pattern, const Cursor& at) {
  return Translator(pattern, at).run();
}

}  // namespace calkit::hf
