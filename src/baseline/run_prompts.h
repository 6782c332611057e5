#pragma once
/// The model's answers to the prompts, and the inner values of one of them.
#include <string>
#include <utility>
#include <vector>

#include "calkit/baseline/freeze.h"
#include "calkit/exec/llm.h"

namespace calkit::baseline {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// Fills logits and greedy steps of each item (its prompt and ids are set). Asks for interrupts between tokens.
Status run_prompts(exec::LanguageModel& model, int greedy_steps, frozen::Reference& reference,
                   const std::function<void(std::size_t done, std::size_t all)>& progress);

/// Inner values of the probe prompt: the shortest prompt of at least 17 tokens, else the longest one; the first of
/// equals. Members: token_ids, embed, layer.0.*, the last layer's out, final_norm. Empty if no prompt has tokens.
Result<NamedTensors> run_probes(exec::LanguageModel& model, const hf::ModelSpec& spec,
                                const frozen::Reference& reference);

}  // namespace calkit::baseline
