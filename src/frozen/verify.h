#pragma once
/// Parts of verify() (private to frozen).
#include <string>
#include <vector>

#include "calkit/frozen/baseline.h"
#include "calkit/hf/tokenizer.h"

namespace calkit::frozen {

/// Ids, logits and greedy steps of every prompt against each other and against the frozen tokenizer; one sentence a
/// fault.
void verify_items(const Reference& reference, const ModelSource& source, const hf::Tokenizer& tokenizer,
                  std::vector<std::string>& findings);

/// The text of every prompt with messages, rendered again with the frozen template and clock.
/// @param tokenizer_dir model-source/tokenizer of the baseline.
void verify_chats(const Reference& reference, const ModelSource& source, const std::filesystem::path& tokenizer_dir,
                  std::vector<std::string>& findings);

}  // namespace calkit::frozen
