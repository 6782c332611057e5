#pragma once
/// How much the reference's own numbers move when nothing but the way of computing changes.
#include <functional>

#include "calkit/exec/llm.h"
#include "calkit/frozen/baseline.h"

namespace calkit::baseline {

using ModelLoader = std::function<Result<exec::LanguageModel>(int threads)>;

/// Runs a sample of prompts again with another number of threads, and token by token instead of at once, and compares
/// the logits of the last position. The sample depends on the items' ids alone: `prompts` of them, evenly spread over
/// those of 17 to 256 tokens. `model` is loaded with `threads`; it is gone before another one is.
/// @return the document reference/noise.json.
Result<Value> measure_noise(exec::LanguageModel model, int threads, const ModelLoader& load, int prompts,
                            const frozen::Reference& reference);

}  // namespace calkit::baseline
