#include "calkit/hf/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/document.h"
#include "calkit/base/files.h"
#include "calkit/base/text.h"
#include "tokenizer_added.h"
#include "tokenizer_decode.h"
#include "tokenizer_model.h"
#include "tokenizer_normalize.h"
#include "tokenizer_parts.h"
#include "tokenizer_split.h"

namespace calkit::hf {

struct Tokenizer::State {
  std::unique_ptr<TokenModel> model;
  Normalizer normalizer;
  AddedVocabulary added;
  PreTokenizer splitter;
  SpecialFrame frame;
  Decoder decoder;
  /// The token that an id decodes to; null if there is none, or if it is one to skip.
  const std::string* token(TokenId id, bool skip_special, std::size_t& unknown) const;
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
  CALKIT_TRY(state->model, TokenModel::parse(model));
  CALKIT_TRY(state->normalizer, Normalizer::parse(root));
  CALKIT_TRY(state->added, AddedVocabulary::parse(root, *state->model, state->normalizer));
  CALKIT_TRY(state->splitter, PreTokenizer::parse(root));
  CALKIT_TRY(state->frame, parse_post_processor(root));
  CALKIT_TRY(state->decoder, Decoder::parse(root));
  state->size = state->model->size();
  state->by_id.reserve(state->size);
  const auto enter = [&](TokenId id, const std::string& token) {
    state->by_id.emplace(id, &token);
    state->max_id = std::max(state->max_id, id);
  };
  for (const auto& [token, id] : state->model->vocabulary()) enter(id, token);
  for (const auto& [id, token] : state->model->shadowed()) enter(id, token);
  for (const AddedToken& token : state->added.tokens()) {
    if (state->model->id_of(token.content) == kNoToken) ++state->size;
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
  Normalizer::Run normalizer(state_->normalizer);
  PreTokenizer::Run run(state_->splitter);
  const bool bytes = state_->splitter.gives_bytes();
  for (const Part& part : state_->added.split(text, true)) {
    if (part.id >= 0) {
      out.push_back(part.id);
      continue;
    }
    CALKIT_TRY(const auto normal, normalizer.apply(part.text));
    const bool at_start = part.text.data() == text.data() && normal.from_start;
    for (const Part& inner : state_->added.split(normal.text, false)) {
      if (inner.id >= 0) {
        out.push_back(inner.id);
        continue;
      }
      const bool from_start = at_start && inner.text.data() == normal.text.data();
      CALKIT_TRY(const auto words, run.words(inner.text, from_start), "splitting a text into words");
      for (const std::string_view word : words) CALKIT_CHECK_OK(state_->model->encode(word, bytes, out));
    }
  }
  if (add_special_tokens) out.insert(out.end(), state_->frame.second.begin(), state_->frame.second.end());
  return out;
}

const std::string* Tokenizer::State::token(TokenId id, bool skip_special, std::size_t& unknown) const {
  const AddedToken* token_added = added.find(id);
  const auto entry = by_id.find(id);
  if (token_added == nullptr && entry == by_id.end()) {
    ++unknown;
    return nullptr;
  }
  const std::string& token = token_added != nullptr ? added.decoded(*token_added) : *entry->second;
  return skip_special && added.is_special(token) ? nullptr : &token;
}

Tokenizer::Decoded Tokenizer::decode(std::span<const TokenId> ids, bool skip_special_tokens) const {
  Decoded out;
  Decoder::Run run(state_->decoder);
  for (const TokenId id : ids)
    if (const std::string* token = state_->token(id, skip_special_tokens, out.unknown_ids)) run.token(*token, out.text);
  run.finish(out.text);
  return out;
}

struct StreamingDecoder::State {
  const Tokenizer::State* tokenizer;
  bool skip_special;
  Decoder::Run run;
  std::size_t unknown = 0;
};

StreamingDecoder::StreamingDecoder(const Tokenizer& tokenizer, bool skip_special_tokens)
    : state_(new State{tokenizer.state_.get(), skip_special_tokens, Decoder::Run(tokenizer.state_->decoder), 0}) {}
StreamingDecoder::~StreamingDecoder() = default;
StreamingDecoder::StreamingDecoder(StreamingDecoder&&) noexcept = default;
StreamingDecoder& StreamingDecoder::operator=(StreamingDecoder&&) noexcept = default;

std::string StreamingDecoder::feed(TokenId id) {
  std::string out;
  if (const std::string* token = state_->tokenizer->token(id, state_->skip_special, state_->unknown))
    state_->run.token(*token, out);
  return out;
}

std::string StreamingDecoder::flush() {
  std::string out;
  state_->run.finish(out);
  return out;
}

std::size_t StreamingDecoder::unknown_ids() const {
  return state_->unknown;
}

std::size_t Tokenizer::size() const {
  return state_->size;
}
TokenId Tokenizer::max_id() const {
  return state_->max_id;
}

std::optional<TokenId> Tokenizer::id_of(std::string_view token) const {
  if (const auto added = state_->added.id_of(token)) return added;
  const TokenId id = state_->model->id_of(token);
  return id == kNoToken ? std::nullopt : std::optional(id);
}

const std::vector<AddedToken>& Tokenizer::added_tokens() const {
  return state_->added.tokens();
}
std::vector<std::uint8_t> Tokenizer::missing_bytes() const {
  if (!state_->splitter.gives_bytes()) return {};
  return state_->model->vanishing_bytes();
}
std::pair<std::vector<TokenId>, std::vector<TokenId>> Tokenizer::special_frame() const {
  return state_->frame;
}

}  // namespace calkit::hf
