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
  std::string model_sha256;
  std::vector<std::string> notes;  ///< sources that disagree, facts that are null
};
/// kInput: a checkpoint that is refused, a prompt longer than the model's context minus the greedy steps, fewer than one prompt.
Result<FreezeReport> freeze_model(const FreezeOptions& options);

}  // namespace calkit::baseline
