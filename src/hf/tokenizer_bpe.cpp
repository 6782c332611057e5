#include "tokenizer_bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>

#include "calkit/base/text.h"
#include "calkit/base/unicode.h"
#include "tokenizer_bytes.h"

namespace calkit::hf {

std::vector<std::uint8_t> BpeModel::vanishing_bytes() const {
  std::vector<std::uint8_t> out;
  if (names_unknown_) return out;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto value = static_cast<std::uint8_t>(byte);
    std::vector<TokenId> fallback;
    if (byte_ids_[byte] != kNoToken || (byte_fallback_ && append_byte_tokens(byte_symbol(value), fallback))) continue;
    out.push_back(value);
  }
  return out;
}

Status BpeModel::encode(std::string_view word, bool bytes, std::vector<TokenId>& out) const {
  if (whole_words_first_) {
    const TokenId whole = bytes ? id_of(to_symbols(word)) : id_of(word);
    if (whole != kNoToken) {
      out.push_back(whole);
      return {};
    }
  }
  std::vector<TokenId> symbols;
  symbols.reserve(word.size());
  if (!bytes)
    CALKIT_CHECK_OK(characters(word, symbols));
  else if (!byte_symbols(word, symbols))
    CALKIT_CHECK_OK(characters(to_symbols(word), symbols));
  merge(symbols, out);
  return {};
}

bool BpeModel::byte_symbols(std::string_view word, std::vector<TokenId>& symbols) const {
  for (const char c : word) {
    const TokenId id = byte_ids_[static_cast<std::uint8_t>(c)];
    if (id == kNoToken) {
      symbols.clear();
      return false;
    }
    symbols.push_back(id);
  }
  return true;
}

// An unknown character waits: fuse_unk joins it with the next ones. Byte tokens pass a waiting one by, as in the peer.
Status BpeModel::characters(std::string_view word, std::vector<TokenId>& symbols) const {
  bool waiting = false;
  for (std::size_t at = 0; at < word.size();) {
    const auto c = code_point_at(word, at);
    const std::string_view text = word.substr(at, c.bytes);
    at += c.bytes;
    if (const std::uint32_t id = characters_.find(c.value); id != IdMap::kNone) {
      if (waiting) symbols.push_back(unknown_);
      waiting = false;
      symbols.push_back(static_cast<TokenId>(id));
      continue;
    }
    if (byte_fallback_ && append_byte_tokens(text, symbols)) continue;
    if (!names_unknown_) continue;
    if (unknown_ == kNoToken)
      return Error{ErrorKind::kInput,
                   fmt::format("no token for \"{}\", and the vocabulary lacks the unk_token \"{}\"", printable(text),
                               printable(unknown_text_)),
                   "the tokenizer cannot write this text; the peer refuses it as well"};
    if (waiting && !fuse_unknown_) symbols.push_back(unknown_);
    waiting = true;
  }
  if (waiting) symbols.push_back(unknown_);
  return {};
}

// The best rank first, leftmost of equals; neighbours are a linked list, and entries of the queue that a merge has
// overtaken are dropped when they come up, by the peer's own rule: the pair that stands there now must still give the
// same token.
void BpeModel::merge(std::vector<TokenId>& symbols, std::vector<TokenId>& out) const {
  constexpr std::uint32_t kNone = UINT32_MAX;
  const auto n = static_cast<std::uint32_t>(symbols.size());
  if (n < 2) {
    out.insert(out.end(), symbols.begin(), symbols.end());
    return;
  }
  struct Entry {
    std::uint32_t rank, at;
    TokenId into;
    bool operator>(const Entry& other) const { return rank != other.rank ? rank > other.rank : at > other.at; }
  };
  std::vector<std::uint32_t> next(n), previous(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    previous[i] = i == 0 ? kNone : i - 1;
    next[i] = i + 1 == n ? kNone : i + 1;
  }
  std::vector<Entry> found;
  found.reserve(n);
  for (std::uint32_t i = 0; i + 1 < n; ++i)
    if (const Merge* merge = find_merge(symbols[i], symbols[i + 1])) found.push_back({merge->rank, i, merge->into});
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue(std::greater<>{}, std::move(found));
  const auto consider = [&](std::uint32_t left, std::uint32_t right) {
    if (const Merge* merge = find_merge(symbols[left], symbols[right])) queue.push({merge->rank, left, merge->into});
  };
  constexpr TokenId kGone = -1;
  while (!queue.empty()) {
    const auto [rank, at, into] = queue.top();
    queue.pop();
    if (symbols[at] == kGone || next[at] == kNone) continue;
    const std::uint32_t right = next[at];
    const Merge* now = find_merge(symbols[at], symbols[right]);
    if (now == nullptr || now->into != into) continue;
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
