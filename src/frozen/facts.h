#pragma once
/// What describe_model_source() collects before it writes manifest.json (private to frozen).
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calkit/base/document.h"
#include "calkit/hf/chat_template.h"
#include "calkit/hf/checkpoint.h"
#include "calkit/hf/model_files.h"
#include "calkit/hf/spec.h"
#include "calkit/hf/tokenizer.h"

namespace calkit::frozen {

/// A fact that may be unknown, and who says so, or why nobody does.
struct Stated {
  std::optional<std::string> value;
  std::string why;  ///< the source of the value, or the reason for its absence
};
struct Identity {
  Stated repository, revision, licence;
  std::vector<std::string> notes;
};
/// Licence from the model card's front matter; repository and revision from the folder's download records.
Result<Identity> read_identity(const hf::ModelFiles& files, const std::filesystem::path& model_dir);

struct FileFact {
  std::string name, sha256;
  std::uint64_t bytes = 0;
};
/// Every file of the folder, sorted.
Result<std::vector<FileFact>> hash_files(const hf::ModelFiles& files);
/// Digest over sorted lines "<sha256>  <name>\n".
std::string digest_of(const std::vector<FileFact>& files);
const FileFact* find_file(const std::vector<FileFact>& files, std::string_view name);

/// name, dtype, shape, file, bytes, sha256 of each tensor; pages are let go one tensor at a time.
Result<Value> describe_tensors(const hf::Checkpoint& checkpoint);

/// One statement about a special token.
struct SpecialFact {
  std::int64_t id = 0;
  std::optional<std::string> token;
  std::string source;  ///< "config.json#/eos_token_id"
};
struct TokenizerFacts {
  std::map<std::string, std::vector<SpecialFact>> special;  ///< "bos", "eos", "pad"
  std::optional<std::string> chat_template;                 ///< the text of the default one
  std::string template_source;                              ///< where it stands, or why there is none
  std::map<std::string, hf::TemplateText> named_templates;  ///< those beside the default
  Value settings;  ///< scalars of tokenizer_config.json that change texts or ids
  std::vector<std::string> notes;
};
/// @param configs config.json and generation_config.json. @param files the tokenizer's; the same folder in a
/// checkpoint. kInput: an id outside the model, a special token that the tokenizer lacks, a malformed file.
Result<TokenizerFacts> read_tokenizer_facts(const hf::ModelFiles& configs, const hf::ModelFiles& files,
                                            const hf::Tokenizer& tokenizer, const hf::ModelSpec& spec);

/// Parts of manifest.json that follow from the files a baseline has copies of.
Value tokenizer_value(const hf::Tokenizer& tokenizer, const hf::ModelSpec& spec, const std::string& sha256,
                      const TokenizerFacts& facts);
std::vector<std::int64_t> stop_ids(const hf::ModelSpec& spec, const TokenizerFacts& facts);
Value kv_value(const hf::ModelSpec& spec);
/// From the list of tensors. @param files names of the weight files.
Value weights_value(std::span<const hf::TensorInfo> tensors, const std::vector<std::string>& files);

}  // namespace calkit::frozen
