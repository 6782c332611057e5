#pragma once
/// How close the choice of experts was, along greedy runs that are there (private to baseline).
#include "calkit/exec/llm.h"
#include "calkit/frozen/baseline.h"
#include "calkit/hf/spec.h"

namespace calkit::baseline {

/// Sets GreedyStep::router_margin of every step, from one pass over the prompt and the run's tokens.
Status add_router_margins(exec::LanguageModel& model, const hf::ModelSpec& spec, frozen::ReferenceItem& item);

}  // namespace calkit::baseline
