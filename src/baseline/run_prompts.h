#pragma once
/// The model's answers to the prompts, and the inner values of one of them.
#include <string>
#include <utility>
#include <vector>

#include "calkit/baseline/freeze.h"
#include "calkit/exec/llm.h"

namespace calkit::baseline {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// Fills logits and greedy steps of an item whose prompt and ids are set; it has at least one. Asks for interrupts
/// between tokens.
Status run_item(exec::LanguageModel& model, int greedy_steps, frozen::ReferenceItem& item);

/// Position of the probe prompt: the shortest prompt of at least 17 tokens, else the longest one; the first of equals.
/// items.size(): no prompt has tokens.
std::size_t probe_position(const frozen::Reference& reference);

/// Inner values of the probe prompt. Members: token_ids, embed, layer.0.*, the last layer's out, final_norm. Empty if
/// no prompt has tokens.
Result<NamedTensors> run_probes(exec::LanguageModel& model, const hf::ModelSpec& spec,
                                const frozen::Reference& reference);

}  // namespace calkit::baseline
