#pragma once
/// freeze-baseline model: writes the frozen baseline of a checkpoint (format: frozen/baseline.h) atomically.
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calkit/frozen/baseline.h"

namespace calkit::baseline {

/// One of `count` parts of the answers: those at positions index-1, index-1+count, ... of what is to be answered.
struct Shard {
  std::size_t index = 1, count = 1;
};
/// "2/4". kUsage: anything else, an index outside 1..count, a count above 4096.
Result<Shard> parse_shard(const std::string& text);

/// What strftime_now of a chat template reads, and who says so: "--date", "SOURCE_DATE_EPOCH".
struct ChatClock {
  std::int64_t seconds = 0;  ///< since 1970, UTC
  std::string source;
};
/// --date "2025-03-09" (midnight, UTC), else SOURCE_DATE_EPOCH if it is set; both may be empty. kUsage: no such day, no
/// whole number of seconds.
Result<std::optional<ChatClock>> parse_chat_clock(const std::string& date, const std::string& source_date_epoch);

struct FreezeOptions {
  std::filesystem::path model_dir, out;
  std::vector<frozen::Prompt> prompts;
  std::string dtype = "fp32";  ///< or "bf16"
  int greedy_steps = 16;
  int threads = 1;
  manifest::ProductTargets targets;
  std::optional<std::int64_t> max_tokens;  ///< leave out prompts with more tokens
  int noise_prompts = 4;                   ///< run again in other ways to see what that changes; 0: not measured
  std::optional<ChatClock> clock;          ///< for prompts with messages whose template reads the clock
  std::optional<Shard> shard;              ///< write a shard for merge_shards() instead of a baseline
  std::function<void(std::size_t done, std::size_t all)> progress;
};
struct FreezeReport {
  std::uint64_t prompts = 0, tokens = 0, tensors = 0, weight_bytes = 0, greedy_steps = 0;
  std::uint64_t model_bytes = 0;   ///< of all source files
  std::string model_sha256;        ///< digest over all source files
  std::vector<std::string> notes;  ///< sources that disagree, facts that are null
  std::vector<frozen::Unanswered> refused, left_out;
  std::size_t resumed = 0;  ///< answers taken over from an interrupted run
};
/// Two runs over the same files give the same bytes. `out` appears whole or not at all; an earlier baseline in it is
/// replaced. Finished answers are kept beside it, in `.NAME.calkit-work`, until it is whole: after an interrupted run,
/// the next one with the same inputs, options and build takes them over. Prompts that cannot be answered are refused in
/// the baseline, each with its reason.
/// kInput: a checkpoint that is refused (NaN in the weights included), a tokenizer with ids beyond the vocabulary, no
/// prompt that can be answered, an id twice, `out` is a folder of something else. kInterrupted: a signal came.
Result<FreezeReport> freeze_model(const FreezeOptions& options);

/// Puts the shards of one freeze together: the same bytes as the freeze without shards.
/// kInput names the shard: damaged, missing, given twice, of another freeze, or no shard at all.
Result<FreezeReport> merge_shards(const std::vector<std::filesystem::path>& shards, const std::filesystem::path& out);

/// What a baseline of that dtype may differ by from a peer's goldens.
frozen::CompareLimits peer_limits(const std::string& dtype);

}  // namespace calkit::baseline
