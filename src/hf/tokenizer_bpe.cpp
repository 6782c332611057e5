#include "tokenizer_bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

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
  return at->error(at->value().describe(), "null: calkit reads byte-level BPE without it");
}

Status must_be_false(const Cursor& model, std::string_view key) {
  const auto at = model.find(key);
  if (!at) return {};
  CALKIT_TRY(const bool value, at->as_bool());
  if (value) return at->error("true", "false: calkit reads byte-level BPE without it");
  return {};
}

}  // namespace

Result<BpeModel> BpeModel::parse(const Cursor& model) {
  CALKIT_TRY(const auto type, model.string("type"));
  if (type != "BPE")
    return model.at("type").value().error(fmt::format("\"{}\"", type), "\"BPE\" (byte-level)",
                                          "calkit reads byte-level BPE tokenizers");
  CALKIT_CHECK_OK(model.only({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                              "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"}));
  if (const auto dropout = model.find("dropout"); dropout && dropout->value().if_number() != 0.0)
    return dropout->error(dropout->value().describe(), "null: ids must not depend on chance");
  CALKIT_CHECK_OK(must_be_unset(model, "continuing_subword_prefix"));
  CALKIT_CHECK_OK(must_be_unset(model, "end_of_word_suffix"));
  CALKIT_CHECK_OK(must_be_false(model, "byte_fallback"));
  BpeModel out;
  if (const auto flag = model.find("ignore_merges")) {
    CALKIT_TRY(out.whole_words_first_, flag->as_bool());
  }
  CALKIT_CHECK_OK(out.read_vocabulary(model));
  CALKIT_CHECK_OK(out.read_merges(model));
  // With every byte in the vocabulary nothing is ever unknown, so these two say nothing.
  if (!out.missing_bytes().empty()) {
    CALKIT_CHECK_OK(must_be_unset(model, "unk_token"));
    CALKIT_CHECK_OK(must_be_false(model, "fuse_unk"));
  }
  return out;
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
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto found = vocabulary_.find(byte_symbol(static_cast<std::uint8_t>(byte)));
    byte_ids_[byte] = found == vocabulary_.end() ? -1 : found->second;
  }
  return {};
}

Status BpeModel::read_merges(const Cursor& model) {
  CALKIT_TRY(const auto merges, model.at("merges"));
  CALKIT_TRY(const auto items, merges.items());
  merges_.reserve(items.size());
  const bool text_form = !items.empty() && items.front().value().is_string();
  std::size_t rank = 0;
  for (const Cursor& item : items) {
    if (!text_form) {
      const auto* pair = item.value().if_array();
      const bool good = pair != nullptr && pair->size() == 2 && (*pair)[0].is_string() && (*pair)[1].is_string();
      if (!good) return item.error(item.value().describe(), "a pair of two texts, as in the entries before");
      CALKIT_CHECK_OK(add_merge(item, rank++, *(*pair)[0].if_string(), *(*pair)[1].if_string()));
      continue;
    }
    const std::string* text = item.value().if_string();
    if (text == nullptr) return item.error(item.value().describe(), "a text \"a b\", as in the entries before");
    const std::string& rule = *text;
    if (rule.starts_with("#version")) continue;
    // Only the ASCII space separates: other white space may be part of a token.
    const std::size_t space = rule.find(' ');
    if (space == std::string::npos || rule.find(' ', space + 1) != std::string::npos)
      return item.error(fmt::format("rule {} \"{}\"", rank + 1, rule), "two tokens with one space between them",
                        "tokens that hold spaces need the pair form [\"a\", \"b\"]");
    CALKIT_CHECK_OK(add_merge(item, rank++, rule.substr(0, space), rule.substr(space + 1)));
  }
  return {};
}

Status BpeModel::add_merge(const Cursor& at, std::size_t rank, const std::string& first, const std::string& second) {
  const auto id = [&](const std::string& token) -> Result<TokenId> {
    const auto found = vocabulary_.find(token);
    if (found != vocabulary_.end()) return found->second;
    return at.error(
        fmt::format("rule {} \"{}\" + \"{}\", and no vocabulary entry \"{}\"", rank + 1, first, second, token),
        "merges whose two parts and result are in the vocabulary");
  };
  CALKIT_TRY(const TokenId a, id(first));
  CALKIT_TRY(const TokenId b, id(second));
  CALKIT_TRY(const TokenId into, id(first + second));
  merges_[key(a, b)] = {static_cast<std::uint32_t>(rank),
                        into};  // of a repeated rule the last one counts, as in the peer
  return {};
}

std::vector<std::uint8_t> BpeModel::missing_bytes() const {
  std::vector<std::uint8_t> out;
  for (unsigned byte = 0; byte < 256; ++byte)
    if (byte_ids_[byte] < 0) out.push_back(static_cast<std::uint8_t>(byte));
  return out;
}

void BpeModel::encode(std::string_view word, std::vector<TokenId>& out) const {
  if (whole_words_first_) {
    const auto whole = vocabulary_.find(to_symbols(word));
    if (whole != vocabulary_.end()) {
      out.push_back(whole->second);
      return;
    }
  }
  std::vector<TokenId> symbols;
  symbols.reserve(word.size());
  for (const char c : word)
    if (const TokenId id = byte_ids_[static_cast<std::uint8_t>(c)]; id >= 0) symbols.push_back(id);
  merge(symbols, out);
}

// The best rank first, leftmost of equals; neighbours are a linked list, and entries of the queue that a merge has
// overtaken are dropped when they come up, by the peer's own rule: the pair that stands there now must still give the
// same token.
void BpeModel::merge(std::vector<TokenId>& symbols, std::vector<TokenId>& out) const {
  constexpr std::size_t kNone = SIZE_MAX;
  const std::size_t n = symbols.size();
  if (n < 2) {
    out.insert(out.end(), symbols.begin(), symbols.end());
    return;
  }
  std::vector<std::size_t> next(n), previous(n);
  for (std::size_t i = 0; i < n; ++i) {
    previous[i] = i == 0 ? kNone : i - 1;
    next[i] = i + 1 == n ? kNone : i + 1;
  }
  using Entry = std::tuple<std::uint32_t, std::size_t, TokenId>;  // rank, position, result
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  const auto consider = [&](std::size_t left, std::size_t right) {
    const auto found = merges_.find(key(symbols[left], symbols[right]));
    if (found != merges_.end()) queue.emplace(found->second.rank, left, found->second.into);
  };
  for (std::size_t i = 0; i + 1 < n; ++i) consider(i, i + 1);
  constexpr TokenId kGone = -1;
  while (!queue.empty()) {
    const auto [rank, at, into] = queue.top();
    queue.pop();
    if (symbols[at] == kGone || next[at] == kNone) continue;
    const std::size_t right = next[at];
    const auto now = merges_.find(key(symbols[at], symbols[right]));
    if (now == merges_.end() || now->second.into != into) continue;
    symbols[at] = into;
    symbols[right] = kGone;
    next[at] = next[right];
    if (next[at] != kNone) previous[next[at]] = at;
    if (previous[at] != kNone) consider(previous[at], at);
    if (next[at] != kNone) consider(at, next[at]);
  }
  for (const TokenId id : symbols)
    if (id != kGone) out.push_back(id);
}

}  // namespace calkit::hf
