#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/hash.h"
#include "calkit/base/process.h"
#include "calkit/frozen/writer.h"
#include "facts.h"
#include "layout.h"

namespace calkit::frozen {
namespace {

struct Collected {
  Identity identity;
  std::vector<FileFact> files;
  Value tensors;
  TokenizerFacts facts;
  std::vector<std::string> weight_notes, notes;
};

Value value_of(const Stated& stated) {
  return Value::object({{"value", stated.value}, {stated.value ? "source" : "null_reason", stated.why}});
}

Value files_value(const std::vector<FileFact>& files) {
  Value out(Value::Array{});
  for (const FileFact& file : files)
    out.push(Value::object({{"path", file.name}, {"bytes", file.bytes}, {"sha256", digest_text(file.sha256)}}));
  return out;
}

Status check_rows(const hf::Tokenizer& tokenizer, const hf::ModelSpec& spec, const hf::ModelFiles& files) {
  if (tokenizer.max_id() < spec.vocab) return {};
  return input_error(
      files.shown("config.json"), "/vocab_size", fmt::format("{}", spec.vocab),
      fmt::format("at least {}: tokenizer.json has ids up to {}", tokenizer.max_id() + 1, tokenizer.max_id()),
      "the tokenizer belongs to another model, or the embedding lacks rows");
}

void add_notes(const hf::ModelFiles& files, const hf::Tokenizer& tokenizer, const ModelSource& source, Collected& all) {
  all.notes = source.spec.notes;
  all.notes.insert(all.notes.end(), all.weight_notes.begin(), all.weight_notes.end());
  all.notes.insert(all.notes.end(), all.facts.notes.begin(), all.facts.notes.end());
  all.notes.insert(all.notes.end(), all.identity.notes.begin(), all.identity.notes.end());
  for (const auto& [field, why] : source.null_reasons) all.notes.push_back(fmt::format("{} is null: {}", field, why));
  if (source.stop_ids.empty())
    all.notes.push_back("no file names an end-of-text token: nothing stops a generation but its length");
  if (!tokenizer.missing_bytes().empty())
    all.notes.push_back(
        fmt::format("the vocabulary lacks {} of 256 bytes; they vanish from a text, as they do in the peer",
                    tokenizer.missing_bytes().size()));
  if (source.targets.context > source.spec.max_positions && source.targets.source != "default")
    all.notes.push_back(fmt::format(
        "targets.context is {}, but config.json gives the model {} positions: no sequence is longer than that",
        source.targets.context, source.spec.max_positions));
  for (const std::string& folder : files.folders())
    if (!folder.starts_with('.'))
      all.notes.push_back(fmt::format("the subfolder {} is no part of the model source", folder));
}

// BF16 answers of a checkpoint that is stored in another type are those of its rounded weights.
void add_rounding_note(const hf::Checkpoint& checkpoint, const std::string& dtype, std::vector<std::string>& notes) {
  std::size_t rounded = 0;
  for (const auto& tensor : checkpoint.tensors()) rounded += tensor.dtype != DType::kBF16;
  if (dtype == "bf16" && rounded > 0)
    notes.push_back(fmt::format(
        "{} of {} tensors are not stored in bf16; the reference was computed from them rounded to it, to nearest even",
        rounded, checkpoint.tensors().size()));
}

void fill_identity(const Collected& all, ModelSource& source) {
  const auto take = [&](const char* field, const Stated& stated, std::optional<std::string>& into) {
    into = stated.value;
    if (!stated.value) source.null_reasons[field] = stated.why;
  };
  take("repository", all.identity.repository, source.repository);
  take("revision", all.identity.revision, source.revision);
  take("licence", all.identity.licence, source.licence);
  if (all.facts.chat_template)
    source.chat_template_sha256 = sha256_hex(*all.facts.chat_template);
  else
    source.null_reasons["chat_template"] = all.facts.template_source;
}

Value manifest_value(const ModelSource& source, const Collected& all, const hf::Tokenizer& tokenizer,
                     const hf::Checkpoint& checkpoint, const std::string& dtype) {
  Value out;
  out.set("schema", kSourceSchema);
  out.set("env", Value::object({{"calkit_version", calkit_version()}, {"calkit_commit", calkit_commit()}}));
  out.set("identity", Value::object({{"repository", value_of(all.identity.repository)},
                                     {"revision", value_of(all.identity.revision)},
                                     {"licence", value_of(all.identity.licence)},
                                     {"model_sha256", digest_text(source.model_sha256)}}));
  out.set("inputs", files_value(all.files));
  out.set("weights", weights_value(checkpoint.tensors(), checkpoint.files()));
  out.set("tensors", all.tensors);
  out.set("spec", hf::to_value(source.spec));
  out.set("kv_bytes_per_token", kv_value(source.spec));
  out.set("tokenizer", tokenizer_value(tokenizer, source.spec, source.tokenizer_sha256, all.facts));
  out.set("stop_ids", Value::list(source.stop_ids));
  out.set("targets", manifest::to_value(source.targets));
  out.set("reference", Value::object({{"dtype", dtype}}));
  out.set("notes", Value::list(all.notes));
  return out;
}

}  // namespace

Result<ModelSource> describe_model_source(const std::filesystem::path& model_dir, const SourceOptions& options) {
  ModelSource source;
  source.targets = options.targets;
  CALKIT_TRY(const auto files, hf::ModelFiles::open(model_dir));
  CALKIT_TRY(source.spec, hf::read_spec(model_dir));
  CALKIT_TRY(const auto checkpoint, hf::Checkpoint::open(model_dir));
  CALKIT_CHECK_OK(checkpoint.check_against(source.spec));
  CALKIT_TRY(const auto tokenizer_json, files.read("tokenizer.json"), "reading the tokenizer");
  CALKIT_TRY(const auto tokenizer, hf::Tokenizer::parse(tokenizer_json, files.shown("tokenizer.json")));
  CALKIT_CHECK_OK(check_rows(tokenizer, source.spec, files));
  Collected all;
  all.weight_notes = checkpoint.notes(source.spec);
  CALKIT_TRY(all.facts, read_tokenizer_facts(files, files, tokenizer, source.spec));
  CALKIT_TRY(all.identity, read_identity(files, model_dir));
  CALKIT_TRY(all.files, hash_files(files), "hashing the model's files");
  CALKIT_TRY(all.tensors, describe_tensors(checkpoint));
  source.model_sha256 = digest_of(all.files);
  source.tokenizer_sha256 = find_file(all.files, "tokenizer.json")->sha256;
  source.config_sha256 = find_file(all.files, "config.json")->sha256;
  source.stop_ids = stop_ids(source.spec, all.facts);
  fill_identity(all, source);
  add_notes(files, tokenizer, source, all);
  add_rounding_note(checkpoint, options.reference_dtype, all.notes);
  source.manifest = manifest_value(source, all, tokenizer, checkpoint, options.reference_dtype);
  return source;
}

std::vector<std::string> source_notes(const ModelSource& source) {
  std::vector<std::string> out;
  const Value* notes = source.manifest.find("notes");
  if (notes == nullptr || !notes->is_array()) return out;
  for (const Value& note : *notes->if_array())
    if (const std::string* text = note.if_string()) out.push_back(*text);
  return out;
}

}  // namespace calkit::frozen
