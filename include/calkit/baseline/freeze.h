#pragma once
/// freeze-baseline model: writes the frozen baseline of a checkpoint (format: frozen/baseline.h) atomically.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "calkit/frozen/baseline.h"

namespace calkit::baseline {

struct FreezeOptions {
  std::filesystem::path model_dir, out;
  std::vector<frozen::Prompt> prompts;
  std::string dtype = "fp32";  ///< or "bf16"
  int greedy_steps = 16;
  int threads = 1;
  manifest::ProductTargets targets;
  std::function<void(std::size_t done, std::size_t all)> progress;
};
struct FreezeReport {
  std::uint64_t prompts = 0, tokens = 0, tensors = 0, weight_bytes = 0, greedy_steps = 0;
  std::uint64_t model_bytes = 0;   ///< of all source files
  std::string model_sha256;        ///< digest over all source files
  std::vector<std::string> notes;  ///< sources that disagree, facts that are null
};
/// Two runs over the same files give the same bytes. `out` appears whole or not at all; an earlier baseline in it is
/// replaced.
/// kInput: a checkpoint that is refused (NaN in the weights included), a tokenizer with ids beyond the vocabulary, a
/// prompt that does not fit the model's positions together with the greedy steps, no prompt, an id twice, `out` is a
/// folder of something else. kInterrupted: a signal came.
Result<FreezeReport> freeze_model(const FreezeOptions& options);

/// What a baseline of that dtype may differ by from a peer's goldens.
frozen::CompareLimits peer_limits(const std::string& dtype);

}  // namespace calkit::baseline
