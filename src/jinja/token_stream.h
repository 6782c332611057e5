#pragma once
#include <fmt/format.h>

#include "ast.h"
#include "lexer.h"

namespace calkit::jinja {

inline constexpr std::uint32_t kMaxTreeDepth = 250;

/// What the parsers of expressions and statements share.
class TokenStream {
 public:
  TokenStream(const std::vector<Token>& tokens, const std::string& file) : tokens_(tokens), file_(file) {}

  const Token& now() const { return tokens_[at_]; }
  const Token& next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token take() {
    const Token& token = now();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool is(Tok kind) const { return now().kind == kind; }
  bool is_op(std::string_view text) const { return is(Tok::kOperator) && now().text == text; }
  bool is_word(std::string_view text) const { return is(Tok::kName) && now().text == text; }
  bool next_is_op(std::string_view text) const { return next().kind == Tok::kOperator && next().text == text; }
  bool next_is_word(std::string_view text) const { return next().kind == Tok::kName && next().text == text; }
  bool skip_op(std::string_view text) { return is_op(text) && (take(), true); }
  bool skip_word(std::string_view text) { return is_word(text) && (take(), true); }

  Status expect_op(std::string_view text) {
    if (!is_op(text)) return fail(fmt::format("expected '{}', got {}", text, shown()));
    take();
    return {};
  }
  Status expect(Tok kind, std::string_view what) {
    if (!is(kind)) return fail(fmt::format("expected {}, got {}", what, shown()));
    take();
    return {};
  }
  Result<std::string> expect_name() {
    if (!is(Tok::kName)) return fail(fmt::format("expected a name, got {}", shown()));
    return take().text;
  }

  std::string shown() const {
    switch (now().kind) {
      case Tok::kName:
      case Tok::kOperator:
        return fmt::format("'{}'", now().text);
      case Tok::kString:
        return "a string";
      case Tok::kInteger:
      case Tok::kFloat:
        return fmt::format("the number {}", now().text.substr(0, 20));
      case Tok::kBlockEnd:
        return "the end of the tag";
      case Tok::kVariableEnd:
        return "the end of the expression";
      case Tok::kEnd:
        return "the end of the template";
      default:
        return "text";
    }
  }

  Error fail(const std::string& message) const { return fail_at(now().line, message); }
  Error fail_at(int line, const std::string& message) const { return template_error(file_, line, message); }
  const std::string& file() const { return file_; }

  /// Counts how deep the parser is; a tree deeper than that would overflow somebody's stack.
  struct Deeper {
    std::uint32_t& depth;
    explicit Deeper(std::uint32_t& d) : depth(d) { ++depth; }
    ~Deeper() { --depth; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
  };
  std::uint32_t depth = 0;
  Status check_depth() const {
    if (depth <= kMaxTreeDepth) return {};
    return fail(fmt::format("nested more than {} levels deep (limit of the parser)", kMaxTreeDepth));
  }

 private:
  const std::vector<Token>& tokens_;
  std::size_t at_ = 0;
  const std::string& file_;
};

}  // namespace calkit::jinja
