#include <fmt/format.h>

#include "calkit/base/text.h"
#include "calkit/base/unicode.h"
#include "tokenizer_bpe.h"
#include "tokenizer_bytes.h"

namespace calkit::hf {
namespace {

constexpr std::int64_t kMaxId = 10'000'000;

// Absent, null and "" all mean "none" in the files that are in the wild.
Status must_be_unset(const Cursor& model, std::string_view key) {
  const auto at = model.find(key);
  if (!at) return {};
  const std::string* text = at->value().if_string();
  if (text != nullptr && text->empty()) return {};
  return at->error(at->value().describe(), "null: calkit reads BPE without it");
}

Result<bool> flag(const Cursor& model, std::string_view key) {
  const auto at = model.find(key);
  if (!at) return false;
  return at->as_bool();
}

}  // namespace

Result<std::unique_ptr<BpeModel>> BpeModel::parse(const Cursor& model) {
  CALKIT_CHECK_OK(model.only({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                              "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"}));
  auto out = std::make_unique<BpeModel>();
  CALKIT_CHECK_OK(out->read_flags(model));
  CALKIT_CHECK_OK(out->read_vocabulary(model));
  CALKIT_CHECK_OK(out->read_merges(model));
  return out;
}

Status BpeModel::read_flags(const Cursor& model) {
  if (const auto dropout = model.find("dropout"); dropout && dropout->value().if_number() != 0.0)
    return dropout->error(dropout->value().describe(), "null: ids must not depend on chance");
  CALKIT_CHECK_OK(must_be_unset(model, "continuing_subword_prefix"));
  CALKIT_CHECK_OK(must_be_unset(model, "end_of_word_suffix"));
  CALKIT_TRY(whole_words_first_, flag(model, "ignore_merges"));
  CALKIT_TRY(byte_fallback_, flag(model, "byte_fallback"));
  CALKIT_TRY(fuse_unknown_, flag(model, "fuse_unk"));
  if (const auto unknown = model.find("unk_token")) {
    CALKIT_TRY(unknown_text_, unknown->as_string());
    names_unknown_ = true;
  }
  return {};
}

Status BpeModel::read_vocabulary(const Cursor& model) {
  CALKIT_TRY(const auto vocab, model.at("vocab"));
  CALKIT_TRY(const auto members, vocab.members());
  vocabulary_.reserve(members.size());
  std::unordered_map<TokenId, const std::string*> owner;
  owner.reserve(members.size());
  for (const auto& [token, at] : members) {
    CALKIT_TRY(const auto id, at.as_int(0, kMaxId));
    const auto [other, fresh] = owner.emplace(static_cast<TokenId>(id), &token);
    if (!fresh)
      return at.error(fmt::format("id {}, which \"{}\" has already", id, *other->second), "one id for each entry",
                      "the tokenizer.json is damaged: take it from the model's repository again");
    vocabulary_.emplace(token, static_cast<TokenId>(id));
    if (token.empty()) continue;
    const auto first = code_point_at(token, 0);
    if (first.bytes == token.size()) characters_.set(first.value, static_cast<std::uint32_t>(id));
  }
  for (unsigned byte = 0; byte < 256; ++byte) byte_ids_[byte] = id_of(byte_symbol(static_cast<std::uint8_t>(byte)));
  find_byte_tokens();
  if (names_unknown_) unknown_ = id_of(unknown_text_);
  return {};
}

Status BpeModel::read_merges(const Cursor& model) {
  CALKIT_TRY(const auto merges, model.at("merges"));
  CALKIT_TRY(const auto items, merges.items());
  merges_.reserve(items.size());
  merge_at_.reserve(items.size());
  const bool text_form = !items.empty() && items.front().value().is_string();
  for (const Cursor& item : items) {
    if (!text_form) {
      const auto* pair = item.value().if_array();
      const bool good = pair != nullptr && pair->size() == 2 && (*pair)[0].is_string() && (*pair)[1].is_string();
      if (!good) return item.error(item.value().describe(), "a pair of two texts, as in the entries before");
      CALKIT_CHECK_OK(add_merge(item, *(*pair)[0].if_string(), *(*pair)[1].if_string()));
      continue;
    }
    const std::string* text = item.value().if_string();
    if (text == nullptr) return item.error(item.value().describe(), "a text \"a b\", as in the entries before");
    const std::string& rule = *text;
    if (rule.starts_with("#version")) continue;
    // Only the ASCII space separates: other white space may be part of a token.
    const std::size_t space = rule.find(' ');
    if (space == std::string::npos || rule.find(' ', space + 1) != std::string::npos)
      return item.error(fmt::format("rule {} \"{}\"", merges_.size() + 1, rule),
                        "two tokens with one space between them",
                        "tokens that hold spaces need the pair form [\"a\", \"b\"]");
    CALKIT_CHECK_OK(add_merge(item, rule.substr(0, space), rule.substr(space + 1)));
  }
  return {};
}

Status BpeModel::add_merge(const Cursor& at, const std::string& first, const std::string& second) {
  const auto id = [&](const std::string& token) -> Result<TokenId> {
    if (const TokenId found = id_of(token); found != kNoToken) return found;
    return at.error(fmt::format("rule {} \"{}\" + \"{}\", and no vocabulary entry \"{}\"", merges_.size() + 1, first,
                                second, token),
                    "merges whose two parts and result are in the vocabulary");
  };
  CALKIT_TRY(const TokenId a, id(first));
  CALKIT_TRY(const TokenId b, id(second));
  CALKIT_TRY(const TokenId into, id(first + second));
  const auto rank = static_cast<std::uint32_t>(merges_.size());
  merges_.push_back({rank, into});
  merge_at_.set(key(a, b), rank);  // of a repeated rule the last one counts, as in the peer
  return {};
}

}  // namespace calkit::hf
