#pragma once
// Running a graph before and after; private to the module.
#include <vector>

#include "calkit/passes/normalize.h"

namespace calkit::passes {

/// All outputs of a graph for each feed.
using Answers = std::vector<std::vector<Tensor>>;
/// kInput names the graph, the feed and the node that cannot be run.
Result<Answers> answers_of(const onnx::Model& model, const std::vector<Feed>& feeds, int threads);

/// Output by output. kInput for a comparison that says nothing: another type or shape, NaN or infinity in an output.
Result<Proof> prove(const onnx::Model& model, const std::vector<Feed>& feeds, const Answers& before,
                    const Answers& after);

/// A prefill of each prompt beside one of its first half and a decode step for each token after it: the logits agree.
/// The graphs' ports say what goes where. Prompts of one token have no steps and are left out.
Result<std::vector<StepProof>> prove_steps(const onnx::Model& prefill, const onnx::Model& decode,
                                           const std::vector<std::vector<std::int64_t>>& prompts,
                                           const std::vector<std::string>& names, int threads, double limit);

}  // namespace calkit::passes
