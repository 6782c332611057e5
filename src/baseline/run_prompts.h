#pragma once
/// The model's answers to the prompts, and the inner values of one of them.
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "calkit/baseline/freeze.h"
#include "calkit/exec/llm.h"

namespace calkit::baseline {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// Fills logits and greedy steps of items whose prompt and ids are set; each has at least one. They are prefilled one
/// by one and decoded together, so that weights are read once for all; up to 8 items get the numbers that each gets
/// alone. Asks for interrupts between tokens.
Status run_items(exec::LanguageModel& model, int greedy_steps, std::span<frozen::ReferenceItem* const> items);
Status run_item(exec::LanguageModel& model, int greedy_steps, frozen::ReferenceItem& item);

/// What a group of items that decode together may take.
struct GroupLimits {
  std::size_t items = 8;
  std::uint64_t bytes = 96u << 20;    ///< of cache; a group of one may take more
  std::uint64_t bytes_per_token = 0;  ///< of one item
};
/// Positions of items in groups of similar length, the shortest first.
std::vector<std::vector<std::size_t>> group_items(const frozen::Reference& reference,
                                                  std::vector<std::size_t> positions, int greedy_steps,
                                                  const GroupLimits& limits);

/// Position of the probe prompt: the shortest prompt of at least 17 tokens, else the longest one; the first of equals.
/// items.size(): no prompt has tokens.
std::size_t probe_position(const frozen::Reference& reference);

/// Inner values of the probe prompt. Members: token_ids, embed, layer.0.*, the last layer's out, final_norm. Empty if
/// no prompt has tokens.
Result<NamedTensors> run_probes(exec::LanguageModel& model, const hf::ModelSpec& spec,
                                const frozen::Reference& reference);

}  // namespace calkit::baseline
