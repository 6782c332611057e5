#pragma once
/// Normalizers: what happens to a text before it is cut into words.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/base/document.h"
#include "calkit/base/unicode.h"
#include "tokenizer_regex.h"

namespace calkit::hf {

/// Replacements that could make a text longer than this many times are refused.
constexpr std::size_t kMaxGrowth = 16;

/// A text that is looked for and what takes its place: in normalizers and in decoders.
class Replacement {
 public:
  /// Reads `pattern` ({"String": ..} or {"Regex": ..}) and `content`.
  static Result<Replacement> parse(const Cursor& at);
  bool is_literal() const { return !pattern_; }
  const std::string& literal() const { return literal_; }
  const std::string& content() const { return content_; }
  const Pattern& pattern() const { return *pattern_; }
  /// How many times as long a text may become.
  std::size_t growth() const;

  class Run {
   public:
    explicit Run(const Replacement& rule) : rule_(rule) {}
    /// @param first_match_end where a match at the start of the text ends; 0 if there is none.
    Result<std::string> apply(std::string_view text, std::size_t* first_match_end = nullptr);

   private:
    const Replacement& rule_;
    std::unique_ptr<Pattern::Matcher> matcher_;
    std::vector<Found> found_;
  };

 private:
  std::string literal_, content_;
  std::unique_ptr<Pattern> pattern_;
};

class Normalizer {
 public:
  /// No normalizer in the file: one without steps.
  static Result<Normalizer> parse(const Cursor& root);
  bool empty() const { return steps_.empty(); }

  struct Text {
    std::string text;
    bool from_start = true;  ///< the first character comes from the first one of the input
  };
  class Run {
   public:
    explicit Run(const Normalizer& steps);
    Result<Text> apply(std::string_view text);

   private:
    Status step(std::size_t i, Text& text);
    const Normalizer& steps_;
    std::vector<std::unique_ptr<Replacement::Run>> replacements_;  ///< parallel to the steps
  };

 private:
  enum class Kind { kForm, kLowercase, kStrip, kStripAccents, kNmt, kReplace, kPrepend };
  struct Step {
    Kind kind = Kind::kForm;
    NormalForm form = NormalForm::kNfc;
    bool left = false, right = false;
    std::string prefix;
    std::unique_ptr<Replacement> replacement;
  };
  Status add(const Cursor& at, int depth);
  Status add_leaf(const Cursor& at, const std::string& type);

  std::vector<Step> steps_;
  std::size_t growth_ = 1;
};

}  // namespace calkit::hf
