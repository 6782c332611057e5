#pragma once
/// Pre-tokenizers: Sequence, Split, Digits, and a ByteLevel at the end. They cut a text into the words that BPE merges.
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/base/document.h"
#include "tokenizer_regex.h"

namespace calkit::hf {

enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// Turns matches and gaps into pieces as the peer does; empty pieces are dropped.
void apply_behavior(std::string_view text, std::vector<Found> found, SplitBehavior behavior, bool invert,
                    std::vector<std::string_view>& out);

class PreTokenizer {
 public:
  static Result<PreTokenizer> parse(const Cursor& at);

  /// The work of one encode call: matching memory, and the texts that a prefix space made.
  class Run {
   public:
    explicit Run(const PreTokenizer& steps);
    /// The words of a text, as views of it or of memory that lives as long as the Run.
    Result<std::vector<std::string_view>> words(std::string_view text);

   private:
    const PreTokenizer& steps_;
    std::vector<std::unique_ptr<Pattern::Matcher>> matchers_;  ///< parallel to the steps
    std::deque<std::string> made_;
  };

 private:
  struct Step {
    std::optional<Pattern> pattern;  ///< none: Digits, or a ByteLevel without a pattern
    bool digits = false;
    bool prefix_space = false;
    SplitBehavior behavior = SplitBehavior::kIsolated;
    bool invert = false;
  };
  Status add(const Cursor& at, int depth);
  Status add_split(const Cursor& at);
  Status add_byte_level(const Cursor& at);

  std::vector<Step> steps_;
  bool byte_level_ = false;
};

}  // namespace calkit::hf
