#pragma once
/// The patterns of Split pre-tokenizers. They are written for Oniguruma; we translate the part of its syntax whose
/// meaning we know exactly, with every class expanded to the ranges of the peer's own tables, and match with PCRE2. The
/// rest is refused by name.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/base/document.h"
#include "calkit/base/result.h"

namespace calkit::hf {

/// The PCRE2 form of an Oniguruma pattern. @param at the place of the pattern, for messages.
Result<std::string> translate_pattern(std::string_view pattern, const Cursor& at);

/// A piece of a text: bytes [begin, end), and whether the pattern matched it.
struct Found {
  std::size_t begin = 0, end = 0;
  bool match = false;
};

class Pattern {
 public:
  static Result<Pattern> regex(std::string_view pattern, const Cursor& at);
  /// Exactly this text, which must not be empty.
  static Result<Pattern> literal(std::string_view text, const Cursor& at);
  ~Pattern();
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;

  /// Matching needs memory of its own: one Matcher serves one thread, for many texts.
  class Matcher {
   public:
    explicit Matcher(const Pattern& pattern);
    ~Matcher();
    Matcher(const Matcher&) = delete;
    Matcher& operator=(const Matcher&) = delete;
    /// Appends pieces that cover `text` (valid UTF-8) without gaps. kInput if the pattern needs too many steps.
    Status find(std::string_view text, std::vector<Found>& out);

   private:
    struct State;
    std::unique_ptr<State> state_;
  };

 private:
  struct Code;
  Pattern();
  static Result<Pattern> compile(const std::string& translated, std::string_view shown, const Cursor& at);
  std::unique_ptr<Code> code_;
};

}  // namespace calkit::hf
