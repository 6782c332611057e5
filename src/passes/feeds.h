#pragma once
// Inputs to run a graph on; private to the module.
#include <vector>

#include "calkit/passes/normalize.h"

namespace calkit::passes {

/// Token ids of one prompt.
struct PromptTokens {
  std::string id;
  std::vector<std::int64_t> ids;
};
/// At most `count` prompts of a frozen baseline that have tokens: the shortest, the longest that is at most 512 tokens,
/// and some between them.
Result<std::vector<PromptTokens>> prompts_of(const std::filesystem::path& baseline, std::size_t count);
/// The same many, drawn from a seed: 1 to 33 tokens below `vocab`.
std::vector<PromptTokens> drawn_prompts(std::size_t count, std::int64_t vocab);

/// Those of a baseline, or without one drawn below the model's vocabulary, and where they are from.
struct Prompts {
  std::vector<PromptTokens> prompts;
  std::string from;  ///< the baseline's folder, or "seed"
};
Result<Prompts> choose_prompts(const std::optional<std::filesystem::path>& baseline, std::size_t count,
                               const onnx::Model& model);

/// One past last token id that the graph knows: the last extent of its logits or of the table its tokens are gathered
/// from; 2 where nothing tells.
std::int64_t vocabulary(const onnx::Model& model);

/// Inputs of a decoder graph for one prompt by the roles of its ports (calkit/model/contract_check.h): a prefill gets
/// the whole prompt, a decode its last token and a drawn past. Any other input, and those of a graph that is no
/// decoder, get drawn values; symbols of such a graph are 2, or the prompt's length for the tokens' axis.
Result<Feed> feed_for(const onnx::Model& model, const PromptTokens& prompt);

}  // namespace calkit::passes
