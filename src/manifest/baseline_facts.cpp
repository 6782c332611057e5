#include "calkit/manifest/baseline_facts.h"

#include "calkit/base/document.h"
#include "calkit/base/files.h"

namespace calkit::manifest {
namespace {

constexpr std::string_view kFile = "model-source/manifest.json";
constexpr std::size_t kDigestLength = 71;  // "sha256:" and 64 hex digits

Result<std::string> digest_of(const Cursor& at) {
  CALKIT_TRY(const std::string text, at.as_string());
  const bool good = text.size() == kDigestLength && text.starts_with("sha256:") &&
                    text.find_first_not_of("0123456789abcdef", 7) == std::string::npos;
  if (!good) return at.error(at.value().describe(), "\"sha256:\" and 64 hexadecimal digits");
  return at.as_string();
}

Status read_special_ids(const Cursor& root, const Cursor& tokenizer, BaselineFacts& out) {
  CALKIT_TRY(const Cursor special, tokenizer.at("special_tokens"));
  CALKIT_TRY(const auto kinds, special.members());
  for (const auto& [kind, list] : kinds) {
    CALKIT_TRY(const auto items, list.items());
    for (const Cursor& item : items) {
      CALKIT_TRY(const auto id, item.integer("id", 0));
      out.special_ids[kind].push_back(id);
    }
  }
  CALKIT_TRY(const Cursor stops, root.at("stop_ids"));
  CALKIT_TRY(out.special_ids["stop"], stops.as_ints());
  return {};
}

Status read_tokenizer(const Cursor& root, BaselineFacts& out) {
  CALKIT_TRY(const Cursor tokenizer, root.at("tokenizer"));
  CALKIT_TRY(const Cursor digest, tokenizer.at("sha256"));
  CALKIT_TRY(out.tokenizer_digest, digest_of(digest));
  CALKIT_TRY(out.max_token_id, tokenizer.integer("max_id", 0));
  CALKIT_TRY(const Cursor chat, tokenizer.at("chat_template"));
  if (const auto sha = chat.find("sha256")) {
    CALKIT_TRY(out.chat_template_digest, digest_of(*sha));
  }
  return read_special_ids(root, tokenizer, out);
}

Status read_identity(const Cursor& root, BaselineFacts& out) {
  CALKIT_TRY(const Cursor identity, root.at("identity"));
  CALKIT_TRY(const Cursor model, identity.at("model_sha256"));
  CALKIT_TRY(out.model_digest, digest_of(model));
  CALKIT_TRY(const Cursor inputs, root.at("inputs"));
  CALKIT_TRY(const auto files, inputs.items());
  for (const Cursor& file : files) {
    CALKIT_TRY(const auto path, file.string("path"));
    if (path != "config.json") continue;
    CALKIT_TRY(const Cursor digest, file.at("sha256"));
    CALKIT_TRY(out.config_digest, digest_of(digest));
  }
  if (out.config_digest.empty()) return inputs.error("no config.json", "an entry for config.json");
  return {};
}

Status read_shape(const Cursor& root, BaselineFacts& out) {
  CALKIT_TRY(const Cursor spec, root.at("spec"));
  for (const char* key : {"layers", "hidden", "q_heads", "kv_heads", "head_dim", "ffn", "vocab"}) {
    CALKIT_TRY(out.shape[key], spec.integer(key, 1));
  }
  return {};
}

}  // namespace

Result<BaselineFacts> read_baseline_facts(const std::filesystem::path& baseline_dir) {
  CALKIT_TRY(const Root folder, Root::open(baseline_dir), "opening the baseline " + baseline_dir.string());
  const std::string shown = (baseline_dir / kFile).string();
  CALKIT_TRY(const std::string text, folder.read(kFile), "reading the frozen baseline");
  CALKIT_TRY(const Value document, parse_json(text, shown));
  const Cursor root(document, shown);
  CALKIT_TRY(const Cursor schema, root.at("schema"));
  CALKIT_TRY(const std::string word, schema.as_word({"calkit.model-source/1"}));
  static_cast<void>(word);
  BaselineFacts out;
  CALKIT_CHECK_OK(read_identity(root, out));
  CALKIT_CHECK_OK(read_tokenizer(root, out));
  CALKIT_CHECK_OK(read_shape(root, out));
  return out;
}

}  // namespace calkit::manifest
