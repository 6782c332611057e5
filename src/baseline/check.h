#pragma once
/// What must hold before any prompt runs: everything that can be told from the inputs alone.
#include <cstdint>
#include <vector>

#include "calkit/baseline/freeze.h"
#include "calkit/frozen/writer.h"
#include "calkit/hf/tokenizer.h"

namespace calkit::baseline {

using frozen::check_target;
/// At least one prompt, every id once.
Status check_prompts(const std::vector<frozen::Prompt>& prompts);
/// kInput if the tokenizer has ids without a row in the model. `config_file` is what messages call the file of `spec`.
Status check_tokenizer(const hf::Tokenizer& tokenizer, const hf::ModelSpec& spec, const std::string& config_file);

/// The figures of a finished freeze.
FreezeReport report_of(const frozen::Reference& reference, const frozen::ModelSource& source);

}  // namespace calkit::baseline
