#pragma once
/// Greedy texts of a service, beside a baseline's tokens: what a server that tells neither ids nor logits still shows.
///   reference/texts.jsonl   {id, text, finish_reason, prompt_tokens, completion_tokens} a line
///   reference/source.json   who answered, and how it was asked
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calkit/base/document.h"
#include "calkit/frozen/baseline.h"

namespace calkit::frozen {

struct TextAnswer {
  std::string id, text;
  std::string finish_reason;  ///< "stop", "length"; empty: not told
  std::optional<std::int64_t> prompt_tokens, completion_tokens;
};
struct TextReference {
  Value source;  ///< schema calkit.reference-source/1
  std::vector<TextAnswer> answers;
  std::vector<Unanswered> refused;  ///< prompts the service did not answer, with its reason
};

/// True if DIR holds texts instead of numbers.
bool has_texts(const std::filesystem::path& dir);
Result<TextReference> read_texts(const std::filesystem::path& dir);
Status write_texts(const std::filesystem::path& staged_dir, const TextReference& texts);

struct TextComparison {
  std::string id;
  bool equal = false;
  bool nothing = false;             ///< the baseline's run shows no text to hold the answer against
  std::size_t bytes_equal = 0;      ///< of the texts' common beginning
  std::optional<std::size_t> step;  ///< of the baseline's run whose text the service no longer follows
  std::optional<double> margin;     ///< the baseline's there
  bool ends_early = false;          ///< the answer is only a beginning: never excused
  bool excused = false;             ///< margin at most the limit
  std::size_t steps = 0;            ///< of the baseline, up to and with the one found
  std::string wanted, got;          ///< what follows the common beginning, cut
  std::optional<std::int64_t> prompt_tokens_wanted, prompt_tokens_got;  ///< set when they differ
};
struct TextCompareReport {
  std::vector<TextComparison> prompts;
  std::uint64_t equal = 0, excused = 0, different = 0, nothing = 0;
  std::uint64_t steps = 0;            ///< of all prompts; each excused prompt has one excused step
  std::vector<std::string> findings;  ///< empty: passed
};
/// Holds a service's texts against a baseline's greedy runs, decoded with the frozen tokenizer without special tokens
/// up to the first end-of-text id and without a last character that the number of steps cut. An answer may go on behind
/// them unless it has no more tokens than the baseline's run; where that leaves no text, nothing is compared. More
/// excused steps than limits.excused_share of all is a finding, as with numbers. kInput if they share no prompt with
/// text.
Result<TextCompareReport> compare_texts(const std::filesystem::path& baseline_dir, const TextReference& texts,
                                        const CompareLimits& limits);

}  // namespace calkit::frozen
