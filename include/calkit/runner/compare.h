#pragma once
/// Holds a model against a reference, prompt by prompt and token by token. Decoding follows the reference's tokens
/// (teacher forcing), so one flip does not hide the steps behind it.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calkit/device/token_model.h"
#include "calkit/frozen/baseline.h"
#include "calkit/runner/limits.h"

namespace calkit::runner {

/// A step whose greedy token is not the reference's.
struct Divergence {
  std::string prompt;
  std::size_t step = 0;  ///< 0: the prefill's last position
  std::int32_t expected = 0, got = 0;
  double margin = 0;                 ///< the reference's top-1 minus top-2
  double expected_logit = 0;         ///< the reference's logit of `expected`
  double device_expected_logit = 0;  ///< the device's logit of `expected`
  double device_got_logit = 0;       ///< the device's logit of `got`
  bool excused = false;              ///< margin <= limit
};
std::string describe(const Divergence& divergence);

struct PromptResult {
  std::string id;
  std::uint64_t tokens = 0;
  double max_abs = 0;  ///< over the prefill's logits
  std::size_t max_abs_index = 0;
  std::optional<double> nmse, cosine;
  double top20_overlap = 0;
  std::optional<double> step_nmse;  ///< worst step, over the stored top ids
  double step_max_abs = 0;
  std::uint64_t steps = 0, equal = 0, excused = 0, different = 0;
};

struct Comparison {
  std::vector<PromptResult> prompts;  ///< in the reference's order
  std::uint64_t without_tokens = 0;   ///< prompts with no ids: nothing to compare
  std::uint64_t steps = 0, equal = 0, excused = 0, different = 0;
  std::uint64_t non_finite = 0;  ///< logits of the device that are NaN or Inf
  std::optional<double> nmse_max, cosine_min, step_nmse_max;
  double max_abs_max = 0, step_max_abs_max = 0, overlap_min = 1;
  std::string worst_prompt;             ///< by NMSE
  std::optional<Divergence> first;      ///< the first that is not excused, else the first excused
  std::vector<Divergence> divergences;  ///< at most 100
  std::vector<std::string> findings;    ///< empty: passed
};

/// @param timeout of each single call.
/// kInput: a prompt that is longer than the package takes (names prompt, length, limit), a reference that cannot judge
/// (vocabulary of another width, non-finite or constant logits); kIncomplete: nothing to compare; kDevice and kTimeout
/// from the model.
Result<Comparison> compare_model(device::TokenModel& model, const frozen::Reference& want, const Limits& limits,
                                 std::chrono::nanoseconds timeout);

}  // namespace calkit::runner
