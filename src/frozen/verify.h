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

/// What manifest.json says of tokens, tensors, weights and the KV cache against the frozen files; each fault names the
/// field. @param tokenizer null: it cannot be read. @param copies sizes of the frozen files, by their names in the
/// checkpoint.
void verify_source(const ModelSource& source, const hf::Tokenizer* tokenizer, const std::filesystem::path& source_dir,
                   const std::map<std::string, std::uint64_t>& copies, std::vector<std::string>& findings);

/// coverage.json, probes.npz and noise.json. @param spec null: not known.
void verify_documents(const std::filesystem::path& dir, const Reference& reference, const hf::ModelSpec* spec,
                      std::vector<std::string>& findings);

}  // namespace calkit::frozen
