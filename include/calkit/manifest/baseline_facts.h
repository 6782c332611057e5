#pragma once
/// The few facts of a frozen baseline that do not need a model to be read: DIR/model-source/manifest.json, schema
/// calkit.model-source/1 (docs/formats/model-source.md). Module `frozen` reads and verifies the whole.
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calkit/base/result.h"

namespace calkit::manifest {

struct BaselineFacts {
  std::string model_digest, config_digest, tokenizer_digest;  ///< "sha256:<64 hex>"
  std::optional<std::string> chat_template_digest;            ///< nullopt: the model has no template
  std::int64_t max_token_id = 0;
  std::map<std::string, std::vector<std::int64_t>> special_ids;  ///< bos, eos, pad, stop -> ids
  std::map<std::string, std::int64_t> shape;                     ///< layers, hidden, q_heads, ... as far as stated
};
/// kInput: no baseline, another schema, a missing field.
Result<BaselineFacts> read_baseline_facts(const std::filesystem::path& baseline_dir);

}  // namespace calkit::manifest
