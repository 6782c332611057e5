#include "tokenizer_unigram.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "calkit/base/text.h"
#include "calkit/base/unicode.h"
#include "tokenizer_bytes.h"

namespace calkit::hf {
namespace {

constexpr double kUnknownPenalty = 10.0;  // below the lowest score; the peer's
constexpr std::size_t kMaxEntryBytes = 4096;

// The peer's reader of numbers scales the digits as an integer and may so miss the nearest double by a little. Which of
// two equally good paths wins can hang on that, so the same is done here.
double as_the_peer_reads(double score) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, std::abs(score), std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  const std::size_t mark = text.find('e');
  std::uint64_t digits = 0;
  int exponent = 0;
  for (const char c : text.substr(0, mark)) {
    if (c == '.') continue;
    digits = digits * 10 + static_cast<std::uint64_t>(c - '0');
  }
  const std::string_view power = text.substr(mark + 1);
  std::from_chars(power.data() + (power.front() == '+' ? 1 : 0), power.data() + power.size(), exponent);
  if (mark > 1) exponent -= static_cast<int>(mark) - 2;
  constexpr int kTable = 308;  // of powers of ten
  if (exponent < -kTable || exponent > kTable) return score;
  const double scale = std::pow(10.0, std::abs(exponent));
  const double read = exponent < 0 ? static_cast<double>(digits) / scale : static_cast<double>(digits) * scale;
  return score < 0 ? -read : read;
}

Error no_unknown_token(std::string_view piece) {
  return Error{ErrorKind::kInput, fmt::format("no token for \"{}\", and model/unk_id is null", printable(piece)),
               "the tokenizer cannot write this text; the peer refuses it as well"};
}

}  // namespace

Result<std::unique_ptr<UnigramModel>> UnigramModel::parse(const Cursor& model) {
  CALKIT_CHECK_OK(model.only({"type", "unk_id", "vocab", "byte_fallback"}));
  auto out = std::make_unique<UnigramModel>();
  CALKIT_CHECK_OK(out->read_vocabulary(model));
  if (model.find("unk_id")) {
    CALKIT_TRY(const auto id, model.integer("unk_id", 0, static_cast<std::int64_t>(out->scores_.size()) - 1));
    out->unknown_ = static_cast<TokenId>(id);
  }
  if (const auto flag = model.find("byte_fallback")) {
    CALKIT_TRY(out->byte_fallback_, flag->as_bool());
  }
  out->find_byte_tokens();
  return out;
}

Status UnigramModel::read_vocabulary(const Cursor& model) {
  CALKIT_TRY(const auto vocab, model.at("vocab"));
  CALKIT_TRY(const auto items, vocab.items());
  vocabulary_.reserve(items.size());
  scores_.reserve(items.size());
  double lowest = std::numeric_limits<double>::infinity();
  for (const Cursor& item : items) {
    const auto* pair = item.value().if_array();
    const std::string* token = pair != nullptr && pair->size() == 2 ? (*pair)[0].if_string() : nullptr;
    const auto score = token != nullptr ? (*pair)[1].if_number() : std::nullopt;
    if (!score) return item.error(item.value().describe(), "a pair [\"token\", score]");
    if (token->size() > kMaxEntryBytes)
      return item.error(fmt::format("a token of {} bytes", token->size()), fmt::format("at most {}", kMaxEntryBytes));
    const auto id = static_cast<TokenId>(scores_.size());
    const auto [entry, fresh] = vocabulary_.try_emplace(*token, id);
    if (!fresh) {
      shadowed_.emplace_back(entry->second, *token);
      entry->second = id;
    }
    scores_.push_back(as_the_peer_reads(*score));
    lowest = std::min(lowest, scores_.back());
  }
  for (const auto& [token, id] : vocabulary_) trie_.add(token, static_cast<std::uint32_t>(id));
  unknown_score_ = lowest - kUnknownPenalty;
  return {};
}

Status UnigramModel::encode(std::string_view word, bool bytes, std::vector<TokenId>& out) const {
  if (bytes) return encode(to_symbols(word), false, out);
  std::vector<Node> ends;
  CALKIT_CHECK_OK(best_path(word, ends));
  // Backwards along the path; neighbours that are unknown become one piece.
  std::vector<std::pair<std::size_t, std::size_t>> pieces;
  bool after_unknown = false;
  for (std::size_t end = word.size(); end > 0;) {
    const Node& node = ends[end];
    const bool unknown = unknown_ != kNoToken && node.id == unknown_;
    if (unknown && after_unknown)
      pieces.back().first = node.begin;
    else
      pieces.emplace_back(node.begin, end);
    after_unknown = unknown;
    end = node.begin;
  }
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece)
    CALKIT_CHECK_OK(append(word.substr(piece->first, piece->second - piece->first), out));
  return {};
}

Status UnigramModel::best_path(std::string_view word, std::vector<Node>& ends) const {
  ends.assign(word.size() + 1, {});
  const auto offer = [&](std::size_t begin, std::size_t end, double score, TokenId id) {
    Node& node = ends[end];
    if (node.begin == SIZE_MAX || score > node.score) node = {score, begin, id};
  };
  for (std::size_t begin = 0; begin < word.size();) {
    const double before = ends[begin].score;
    const std::size_t one = begin + code_point_at(word, begin).bytes;
    bool single = false;
    std::uint32_t at = ByteTrie::kRoot;
    for (std::size_t end = begin; end < word.size();) {
      at = trie_.step(at, word[end++]);
      if (at == ByteTrie::kNone) break;
      const std::uint32_t id = trie_.value(at);
      if (id == ByteTrie::kNone) continue;
      offer(begin, end, scores_[id] + before, static_cast<TokenId>(id));
      single = single || end == one;
    }
    if (!single) {
      const double score = unknown_score_ + before;
      if (ends[one].begin == SIZE_MAX || score > ends[one].score) {
        if (unknown_ == kNoToken) return no_unknown_token(word.substr(begin, one - begin));
        offer(begin, one, score, unknown_);
      }
    }
    begin = one;
  }
  return {};
}

Status UnigramModel::append(std::string_view piece, std::vector<TokenId>& out) const {
  if (const TokenId id = id_of(piece); id != kNoToken) {
    out.push_back(id);
    return {};
  }
  if (byte_fallback_ && append_byte_tokens(piece, out)) return {};
  if (unknown_ == kNoToken) return no_unknown_token(piece);
  out.push_back(unknown_);
  return {};
}

}  // namespace calkit::hf
