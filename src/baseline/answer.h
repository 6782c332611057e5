#pragma once
/// Runs the prompts of a freeze, or of one shard of it, and takes over what an interrupted run has answered.
#include "calkit/baseline/freeze.h"
#include "calkit/hf/checkpoint.h"
#include "run_prompts.h"
#include "work.h"

namespace calkit::baseline {

struct Answers {
  NamedTensors probes;
  Value noise;              ///< null: another shard measures it
  std::size_t resumed = 0;  ///< answers of an earlier run
};
/// True if the prompt at `position` of what is to be answered belongs to this part.
bool in_shard(const FreezeOptions& options, std::size_t position);

/// Fills the items of this shard in `reference`. Probes and noise belong to the shard that has the probe prompt; they
/// are chosen over all items. The model's weights are gone again when this returns.
Result<Answers> answer_prompts(const FreezeOptions& options, const hf::ModelSpec& spec, const hf::Checkpoint& weights,
                               const WorkFolder& work, frozen::Reference& reference);

}  // namespace calkit::baseline
