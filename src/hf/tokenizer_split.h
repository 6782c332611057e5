#pragma once
/// Pre-tokenizers: they cut a text into the words that the model encodes one by one.
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/base/document.h"
#include "tokenizer_parts.h"
#include "tokenizer_regex.h"
#include "unicode_table.h"

namespace calkit::hf {

enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// Turns matches and gaps into pieces as the peer does; empty pieces are dropped.
void apply_behavior(std::string_view text, std::vector<Found> found, SplitBehavior behavior, bool invert,
                    std::vector<std::string_view>& out);

class PreTokenizer {
 public:
  /// No pre-tokenizer in the file: the whole text is one word.
  static Result<PreTokenizer> parse(const Cursor& root);
  /// The words are raw bytes, to be spelled in the byte-level alphabet; otherwise they are UTF-8.
  bool gives_bytes() const { return !steps_.empty() && steps_.back().kind == Kind::kByteLevel; }

  /// The work of one encode call: matching memory, and the texts that steps made.
  class Run {
   public:
    explicit Run(const PreTokenizer& steps);
    /// The words of a text, as views of it or of memory that lives until the next call.
    /// @param from_start the text stands at the very start of what is encoded.
    Result<std::vector<std::string_view>> words(std::string_view text, bool from_start);

   private:
    Status step(std::size_t i, std::string_view piece);
    std::string_view rewritten(std::size_t i, std::string_view piece, bool from_start);
    const PreTokenizer& steps_;
    std::vector<std::unique_ptr<Pattern::Matcher>> matchers_;  ///< parallel to the steps
    std::deque<std::string> made_;
    std::vector<std::string_view> next_;
    std::vector<Found> found_;
  };

 private:
  enum class Kind { kPattern, kCharacters, kWhitespace, kMetaspace, kByteLevel };
  struct Step {
    Kind kind = Kind::kPattern;
    std::optional<Pattern> pattern;         ///< none for a ByteLevel that does not split
    std::span<const CodeRange> characters;  ///< kCharacters: each of them is a match
    MetaspaceOptions metaspace;
    bool prefix_space = false;
    SplitBehavior behavior = SplitBehavior::kIsolated;
    bool invert = false;
  };
  Status add(const Cursor& at, int depth);
  Status add_leaf(const Cursor& at, const std::string& type);
  static Status read_split(const Cursor& at, Step& step);
  static Status read_byte_level(const Cursor& at, Step& step);
  static Status read_characters(const Cursor& at, const std::string& type, Step& step);
  static Status read_simple(const Cursor& at, const std::string& type, Step& step);

  std::vector<Step> steps_;
};

}  // namespace calkit::hf
