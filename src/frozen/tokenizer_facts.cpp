#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "calkit/base/hash.h"
#include "calkit/base/text.h"
#include "facts.h"

namespace calkit::frozen {
namespace {

constexpr std::array<const char*, 3> kKinds = {"bos", "eos", "pad"};
constexpr std::string_view kTokenizerConfig = "tokenizer_config.json";

// config.json and generation_config.json: an id, a list of ids, or null.
Status read_ids(const Cursor& root, const std::string& file, const hf::Tokenizer& tokenizer, const hf::ModelSpec& spec,
                TokenizerFacts& out) {
  for (const char* kind : kKinds) {
    const std::string key = fmt::format("{}_token_id", kind);
    const auto at = root.find(key);
    if (!at) continue;
    std::vector<std::int64_t> ids;
    if (at->value().is_array()) {
      CALKIT_TRY(ids, at->as_ints());
    } else {
      CALKIT_TRY(const auto id, at->as_int());
      ids = {id};
    }
    for (const std::int64_t id : ids) {
      if (id < 0 || id >= spec.vocab)
        return at->error(fmt::format("{}", id),
                         fmt::format("an id of 0 to {} (vocab_size {})", spec.vocab - 1, spec.vocab));
      SpecialFact fact{id, std::nullopt, fmt::format("{}#/{}", file, key)};
      for (const hf::AddedToken& token : tokenizer.added_tokens())
        if (token.id == id) fact.token = token.content;
      out.special[kind].push_back(std::move(fact));
    }
  }
  return {};
}

// tokenizer_config.json and special_tokens_map.json: a text, an object with its content, or null.
Status read_tokens(const Cursor& root, const std::string& file, const hf::Tokenizer& tokenizer, TokenizerFacts& out) {
  for (const char* kind : kKinds) {
    const std::string key = fmt::format("{}_token", kind);
    const auto at = root.find(key);
    if (!at) continue;
    std::string token;
    if (at->value().is_object()) {
      CALKIT_TRY(token, at->string("content"));
    } else {
      CALKIT_TRY(token, at->as_string());
    }
    const auto id = tokenizer.id_of(token);
    if (!id) return at->error(fmt::format("\"{}\"", token), "a token that tokenizer.json has");
    out.special[kind].push_back({*id, token, fmt::format("{}#/{}", file, key)});
  }
  return {};
}

// What tokenizer_config.json says of templates beside those that count.
void note_templates(const Cursor& root, const std::map<std::string, hf::TemplateText>& all, TokenizerFacts& out) {
  const auto at = root.find("chat_template");
  const bool in_config = at && (all.empty() || all.begin()->second.source.starts_with(kTokenizerConfig));
  if (!at) return;
  if (in_config && at->value().is_array())
    out.notes.push_back(fmt::format(
        "tokenizer_config.json has {} named chat templates; {}", at->value().if_array()->size(),
        out.chat_template ? "\"default\" is the one recorded" : "none is named \"default\", so none is recorded"));
  if (in_config || !out.chat_template) return;
  const std::string* text = at->value().if_string();
  if (text == nullptr || *text != *out.chat_template)
    out.notes.push_back("chat_template.jinja and tokenizer_config.json hold different chat templates; the file counts");
}

Status read_templates(const hf::ModelFiles& files, const Cursor& root, TokenizerFacts& out) {
  CALKIT_TRY(const auto all, hf::chat_templates(files));
  out.template_source = "no file of the model folder has one";
  for (const auto& [name, found] : all) {
    if (name != "default") {
      out.named_templates.emplace(name, found);
      continue;
    }
    out.chat_template = found.text;
    out.template_source = found.source;
  }
  if (!all.empty() && !out.chat_template) out.template_source = "none of the named templates is the default";
  note_templates(root, all, out);
  return {};
}

Value read_settings(const Cursor& root) {
  Value out(Value::Object{});
  for (const char* key : {"add_bos_token", "add_eos_token", "add_prefix_space", "clean_up_tokenization_spaces",
                          "model_max_length", "tokenizer_class"})
    if (const auto at = root.find(key); at && !at->value().is_object() && !at->value().is_array())
      out.set(key, at->value());
  return out;
}

void note_conflicts(TokenizerFacts& out) {
  for (const auto& [kind, facts] : out.special) {
    std::map<std::string, std::set<std::int64_t>> by_source;
    for (const SpecialFact& fact : facts) by_source[fact.source].insert(fact.id);
    const auto same = [&](const auto& entry) { return entry.second == by_source.begin()->second; };
    if (std::all_of(by_source.begin(), by_source.end(), same)) continue;
    std::string text = fmt::format("sources disagree about {}:", kind);
    for (const auto& [source, ids] : by_source) {
      std::string list;
      for (const std::int64_t id : ids) list += fmt::format("{}{}", list.empty() ? "" : ", ", id);
      text += fmt::format(" {} says {};", source, list);
    }
    text += kind == "eos" ? " every one of them is a stop id" : " all are recorded";
    out.notes.push_back(text);
  }
}

// added_tokens_decoder repeats the added tokens of tokenizer.json, which is the one that is read.
Status note_added_tokens(const Cursor& root, const hf::Tokenizer& tokenizer, TokenizerFacts& out) {
  const auto at = root.find("added_tokens_decoder");
  if (!at) return {};
  std::map<std::int64_t, std::string_view> known;
  for (const hf::AddedToken& token : tokenizer.added_tokens()) known[token.id] = token.content;
  CALKIT_TRY(const auto members, at->members());
  std::size_t differing = 0;
  std::string first;
  for (const auto& [key, entry] : members) {
    CALKIT_TRY(const auto content, entry.string("content"));
    const auto id = parse_decimal_u64(key);
    const auto found = id && *id <= INT32_MAX ? known.find(static_cast<std::int64_t>(*id)) : known.end();
    if (found != known.end() && found->second == content) continue;
    if (differing++ == 0) first = fmt::format("id {} is \"{}\"", printable(key), printable(content));
  }
  if (differing > 0)
    out.notes.push_back(
        fmt::format("tokenizer_config.json#/added_tokens_decoder has {} tokens that tokenizer.json has not ({}); "
                    "tokenizer.json counts",
                    differing, first));
  return {};
}

// What tokenizer_config.json says of texts and lengths beside what the other files do.
void note_settings(const hf::Tokenizer& tokenizer, const hf::ModelSpec& spec, TokenizerFacts& out) {
  constexpr std::int64_t kNoLimit = 1'000'000'000'000;  // "very large" stands for none
  const Value* most = out.settings.find("model_max_length");
  const auto length = most != nullptr ? most->if_int() : std::nullopt;
  if (length && *length != spec.max_positions && *length < kNoLimit)
    out.notes.push_back(fmt::format(
        "tokenizer_config.json#/model_max_length is {}, config.json#/max_position_embeddings {}; the latter counts",
        *length, spec.max_positions));
  const auto [before, after] = tokenizer.special_frame();
  for (const auto& [key, ids] : {std::pair{"add_bos_token", &before}, std::pair{"add_eos_token", &after}}) {
    const Value* stated = out.settings.find(key);
    if (stated == nullptr || stated->if_bool() == nullptr || *stated->if_bool() == !ids->empty()) continue;
    out.notes.push_back(
        fmt::format("tokenizer_config.json#/{} is {}, but the post-processor of tokenizer.json adds {}; "
                    "tokenizer.json counts",
                    key, stated->describe(), ids->empty() ? "no token there" : "one"));
  }
}

Result<Value> read_if_there(const hf::ModelFiles& files, const std::string& name) {
  if (!files.has(name)) return Value(Value::Object{});
  CALKIT_TRY(const auto text, files.read(name));
  return parse_json(text, files.shown(name));
}

}  // namespace

Result<TokenizerFacts> read_tokenizer_facts(const hf::ModelFiles& configs, const hf::ModelFiles& files,
                                            const hf::Tokenizer& tokenizer, const hf::ModelSpec& spec) {
  TokenizerFacts out;
  for (const char* name : {"config.json", "generation_config.json"}) {
    CALKIT_TRY(const auto document, read_if_there(configs, name));
    CALKIT_CHECK_OK(read_ids(Cursor(document, configs.shown(name)), name, tokenizer, spec, out));
  }
  for (const char* name : {"special_tokens_map.json", "tokenizer_config.json"}) {
    CALKIT_TRY(const auto document, read_if_there(files, name));
    const Cursor root(document, files.shown(name));
    CALKIT_CHECK_OK(read_tokens(root, name, tokenizer, out));
    if (name != kTokenizerConfig) continue;
    CALKIT_CHECK_OK(read_templates(files, root, out));
    out.settings = read_settings(root);
    CALKIT_CHECK_OK(note_added_tokens(root, tokenizer, out));
  }
  note_settings(tokenizer, spec, out);
  note_conflicts(out);
  return out;
}

}  // namespace calkit::frozen
