#include "calkit/hf/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/document.h"
#include "calkit/base/files.h"
#include "calkit/base/text.h"
#include "calkit/base/unicode.h"
#include "tokenizer_added.h"
#include "tokenizer_bpe.h"
#include "tokenizer_bytes.h"
#include "tokenizer_parts.h"
#include "tokenizer_split.h"

namespace calkit::hf {

struct Tokenizer::State {
  BpeModel model;
  AddedVocabulary added;
  bool normalise = false;
  PreTokenizer splitter;
  SpecialFrame frame;
  bool byte_level_decoder = true;
  std::unordered_map<TokenId, const std::string*> by_id;  ///< entries of the model's vocabulary
  std::size_t size = 0;
  TokenId max_id = -1;
};

namespace {

Status must_be_null(const Cursor& root, std::string_view key) {
  const auto at = root.find(key);
  if (!at) return {};
  return at->error(at->value().describe(), "null: whoever encodes decides about length",
                   "set it to null; a baseline must hold the ids of the whole text");
}

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

Result<Tokenizer> Tokenizer::load(const std::filesystem::path& tokenizer_json) {
  CALKIT_TRY(const auto text, read_file(tokenizer_json), "reading the tokenizer");
  return parse(text, tokenizer_json.string());
}

Result<Tokenizer> Tokenizer::parse(std::string_view json, std::string_view file) {
  CALKIT_TRY(const auto document, parse_json(json, file), "reading the tokenizer");
  const Cursor root(document, std::string(file));
  CALKIT_CHECK_OK(root.only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
                             "post_processor", "decoder", "model"}));
  if (const auto version = root.find("version")) {
    CALKIT_TRY(const auto known, version->as_word({"1.0"}));
  }
  CALKIT_CHECK_OK(must_be_null(root, "truncation"));
  CALKIT_CHECK_OK(must_be_null(root, "padding"));
  auto state = std::make_unique<State>();
  CALKIT_TRY(const auto model, root.at("model"));
  CALKIT_TRY(state->model, BpeModel::parse(model));
  CALKIT_TRY(state->normalise, parse_normalizer(root));
  CALKIT_TRY(state->added, AddedVocabulary::parse(root, state->model, state->normalise));
  CALKIT_TRY(const auto splitter, root.at("pre_tokenizer"));
  CALKIT_TRY(state->splitter, PreTokenizer::parse(splitter));
  CALKIT_TRY(state->frame, parse_post_processor(root));
  CALKIT_TRY(state->byte_level_decoder, parse_decoder(root));
  state->size = state->model.vocabulary().size();
  for (const auto& [token, id] : state->model.vocabulary()) {
    state->by_id.emplace(id, &token);
    state->max_id = std::max(state->max_id, id);
  }
  for (const AddedToken& token : state->added.tokens()) {
    if (!state->model.vocabulary().contains(token.content)) ++state->size;
    state->max_id = std::max(state->max_id, token.id);
  }
  for (const auto& side : {state->frame.first, state->frame.second})
    for (const TokenId id : side)
      if (!state->by_id.contains(id) && state->added.find(id) == nullptr)
        return root.at("post_processor").value().error(fmt::format("token id {}", id), "ids that the tokenizer has");
  return Tokenizer(std::move(state));
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, bool add_special_tokens) const {
  if (const std::size_t at = invalid_utf8_at(text); at != std::string_view::npos)
    return Error{ErrorKind::kInput, fmt::format("the text is no UTF-8 at byte {}", at), "prompts are UTF-8"};
  std::vector<TokenId> out;
  if (add_special_tokens) out = state_->frame.first;
  PreTokenizer::Run run(state_->splitter);
  for (const Part& part : state_->added.split(text, true)) {
    if (part.id >= 0) {
      out.push_back(part.id);
      continue;
    }
    const std::string normal = state_->normalise ? nfc(part.text) : std::string(part.text);
    for (const Part& inner : state_->added.split(normal, false)) {
      if (inner.id >= 0) {
        out.push_back(inner.id);
        continue;
      }
      CALKIT_TRY(const auto words, run.words(inner.text), "splitting a text into words");
      for (const std::string_view word : words) state_->model.encode(word, out);
    }
  }
  if (add_special_tokens) out.insert(out.end(), state_->frame.second.begin(), state_->frame.second.end());
  return out;
}

Tokenizer::Decoded Tokenizer::decode(std::span<const TokenId> ids, bool skip_special_tokens) const {
  Decoded out;
  std::string bytes;
  bool first = true;
  for (const TokenId id : ids) {
    const AddedToken* added = state_->added.find(id);
    const auto entry = state_->by_id.find(id);
    if (added == nullptr && entry == state_->by_id.end()) {
      ++out.unknown_ids;
      continue;
    }
    const std::string& token = added != nullptr ? state_->added.decoded(*added) : *entry->second;
    if (skip_special_tokens && state_->added.is_special(token)) continue;
    if (state_->byte_level_decoder) {
      bytes += from_symbols(token).value_or(token);
    } else {
      if (!first) bytes += ' ';
      bytes += token;
    }
    first = false;
  }
  out.text = replace_invalid_utf8(bytes);
  return out;
}

std::size_t Tokenizer::size() const {
  return state_->size;
}
TokenId Tokenizer::max_id() const {
  return state_->max_id;
}

std::optional<TokenId> Tokenizer::id_of(std::string_view token) const {
  if (const auto added = state_->added.id_of(token)) return added;
  const auto entry = state_->model.vocabulary().find(std::string(token));
  if (entry == state_->model.vocabulary().end()) return std::nullopt;
  return entry->second;
}

const std::vector<AddedToken>& Tokenizer::added_tokens() const {
  return state_->added.tokens();
}
std::vector<std::uint8_t> Tokenizer::missing_bytes() const {
  return state_->model.missing_bytes();
}
std::pair<std::vector<TokenId>, std::vector<TokenId>> Tokenizer::special_frame() const {
  return state_->frame;
}

}  // namespace calkit::hf
