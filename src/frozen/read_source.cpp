#include <fmt/format.h>

#include "calkit/base/files.h"
#include "calkit/base/hash.h"
#include "calkit/frozen/baseline.h"
#include "diff_documents.h"
#include "layout.h"

namespace calkit::frozen {
namespace {

namespace fs = std::filesystem;

std::string described(const std::optional<Value>& value) {
  return value ? value->describe() : "nothing";
}

Status read_stated(const Cursor& identity, const std::string& field, std::optional<std::string>& into,
                   ModelSource& out) {
  CALKIT_TRY(const auto at, identity.at(field));
  CALKIT_CHECK_OK(at.only({"value", "source", "null_reason"}));
  if (const auto value = at.find("value")) {
    CALKIT_TRY(into, value->as_string());
    return {};
  }
  CALKIT_TRY(out.null_reasons[field], at.string("null_reason"));
  return {};
}

Status read_tokenizer(const Cursor& root, ModelSource& out) {
  CALKIT_TRY(const auto tokenizer, root.at("tokenizer"));
  CALKIT_TRY(const auto digest, tokenizer.at("sha256"));
  CALKIT_TRY(out.tokenizer_sha256, read_digest(digest));
  CALKIT_TRY(const auto chat, tokenizer.at("chat_template"));
  if (const auto sha = chat.find("sha256")) {
    CALKIT_TRY(out.chat_template_sha256, read_digest(*sha));
  } else {
    CALKIT_TRY(out.null_reasons["chat_template"], chat.string("null_reason"));
  }
  return {};
}

Status read_inputs(const Cursor& root, ModelSource& out) {
  CALKIT_TRY(const auto list, root.at("inputs"));
  CALKIT_TRY(const auto items, list.items());
  Sha256 all;
  for (const Cursor& item : items) {
    CALKIT_TRY(const auto path, item.string("path"));
    CALKIT_TRY(const auto at, item.at("sha256"));
    CALKIT_TRY(const auto digest, read_digest(at));
    all.update(fmt::format("{}  {}\n", digest, path));
    if (path == "config.json") out.config_sha256 = digest;
    if (path == "tokenizer.json" && digest != out.tokenizer_sha256)
      return at.error("sha256 " + digest, out.tokenizer_sha256 + ", as /tokenizer/sha256 has it");
  }
  if (const std::string digest = all.hex(); digest != out.model_sha256)
    return list.error("files whose digest is " + digest, out.model_sha256 + ", as /identity/model_sha256 has it");
  if (out.config_sha256.empty()) return list.error("no config.json", "an entry for config.json");
  return {};
}

Status read_spec(const Cursor& root, const fs::path& config, ModelSource& out) {
  CALKIT_TRY(const auto document, read_json(config), "reading the frozen configuration");
  CALKIT_TRY(const auto stated, root.at("spec"));
  CALKIT_TRY(const auto dtype, stated.string("weight_dtype"));  // for a config that states none
  CALKIT_TRY(out.spec, hf::parse_spec(Cursor(document, config.string()), dtype_from_name(dtype)));
  std::vector<FieldChange> changes;
  diff_documents(stated.value(), hf::to_value(out.spec), std::string(kManifest), changes);
  if (changes.empty()) return {};
  const FieldChange& first = changes.front();
  return input_error(root.file(), "/spec" + first.pointer, described(first.a),
                     described(first.b) + ", as the frozen config.json has it",
                     "the baseline was changed: freeze it again");
}

}  // namespace

Result<ModelSource> read_model_source(const fs::path& baseline_dir) {
  const fs::path dir = baseline_dir / kSourceDir;
  const fs::path file = dir / kManifest;
  ModelSource out;
  CALKIT_TRY(out.manifest, read_json(file), "reading the frozen model source");
  const Cursor root(out.manifest, file.string());
  CALKIT_TRY(const auto schema, root.at("schema"));
  CALKIT_TRY(const auto known, schema.as_word({kSourceSchema}));
  CALKIT_CHECK_OK(root.only({"schema", "env", "identity", "inputs", "weights", "tensors", "spec", "kv_bytes_per_token",
                             "tokenizer", "stop_ids", "targets", "reference", "notes"}));
  CALKIT_TRY(const auto identity, root.at("identity"));
  CALKIT_CHECK_OK(identity.only({"repository", "revision", "licence", "model_sha256"}));
  CALKIT_CHECK_OK(read_stated(identity, "repository", out.repository, out));
  CALKIT_CHECK_OK(read_stated(identity, "revision", out.revision, out));
  CALKIT_CHECK_OK(read_stated(identity, "licence", out.licence, out));
  CALKIT_TRY(const auto model, identity.at("model_sha256"));
  CALKIT_TRY(out.model_sha256, read_digest(model));
  CALKIT_CHECK_OK(read_tokenizer(root, out));
  CALKIT_CHECK_OK(read_inputs(root, out));
  CALKIT_CHECK_OK(read_spec(root, dir / "config.json", out));
  CALKIT_TRY(const auto stops, root.at("stop_ids"));
  CALKIT_TRY(out.stop_ids, stops.as_ints());
  CALKIT_TRY(const auto targets, root.at("targets"));
  CALKIT_TRY(out.targets, manifest::parse_targets(targets));
  return out;
}

}  // namespace calkit::frozen
