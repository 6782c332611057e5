#pragma once
/// From the lines of a suite to texts with ids, for one model.
#include <cstdint>
#include <optional>
#include <vector>

#include "calkit/frozen/baseline.h"
#include "calkit/hf/tokenizer.h"

namespace calkit::baseline {

struct PromptLimits {
  std::int64_t positions = 0;  ///< of the model
  int greedy_steps = 0;
  std::optional<std::int64_t> max_tokens;
};
/// Builds the texts of recipes and encodes every prompt. What cannot be answered becomes `refused`, what is longer than
/// max_tokens `left_out`. kInput: nothing is left to answer; a text that is no UTF-8.
/// @return a reference of `dtype` whose items have prompt and ids.
Result<frozen::Reference> resolve_prompts(const hf::Tokenizer& tokenizer, const PromptLimits& limits,
                                          const std::vector<frozen::Prompt>& prompts, const std::string& dtype);

}  // namespace calkit::baseline
