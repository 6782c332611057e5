#pragma once
// Answers of graphs that do not give the same outputs, or not the same numbers; private to the module.
#include "calkit/passes/fuse.h"
#include "prove.h"

namespace calkit::passes {

/// Answers of a graph whose head chooses, from those of one that gives all logits: the output that is gone becomes its
/// k largest values and their places.
Result<Answers> choose(const onnx::Model& before, const onnx::Model& after, const Answers& answers, std::int64_t k);

/// Logits before and after a quantisation: the first output, as a decoder's graph has them.
Status compare_logits(const Answers& before, const Answers& after, QuantizationReport& told);

}  // namespace calkit::passes
