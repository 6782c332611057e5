#pragma once
/// What must hold before any prompt runs: everything that can be told from the inputs alone.
#include <cstdint>
#include <vector>

#include "calkit/baseline/freeze.h"
#include "calkit/hf/tokenizer.h"

namespace calkit::baseline {

/// `out` is new, empty, or an earlier baseline: a folder of something else is never replaced.
Status check_target(const std::filesystem::path& out);
/// At least one prompt, every id once.
Status check_prompts(const std::vector<frozen::Prompt>& prompts);
/// The ids of each prompt. `config_file` is what messages call the file of `spec`. kInput if the tokenizer has ids
/// without a row in the model, or a prompt and its greedy steps do not fit the model's positions (names prompt, tokens
/// and limit).
Result<std::vector<std::vector<std::int32_t>>> encode_prompts(const hf::Tokenizer& tokenizer, const hf::ModelSpec& spec,
                                                              const std::string& config_file,
                                                              const std::vector<frozen::Prompt>& prompts,
                                                              int greedy_steps);

}  // namespace calkit::baseline
