#include "tokenizer_added.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "unicode_table.h"

namespace calkit::hf {
namespace {

constexpr std::size_t kMaxContent = 4096;

bool is_space(char32_t c) {
  static const auto ranges = unicode_ranges("space");
  return in_ranges(ranges, c);
}
bool is_word(char32_t c) {
  static const auto ranges = unicode_ranges("added_word");
  return in_ranges(ranges, c);
}

bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  if (begin > 0 && is_word(code_point_before(text, begin).value)) return false;
  return end >= text.size() || !is_word(code_point_at(text, end).value);
}

std::size_t skip_spaces_back(std::string_view text, std::size_t at, std::size_t floor) {
  while (at > floor) {
    const auto c = code_point_before(text, at);
    if (!is_space(c.value)) break;
    at -= c.bytes;
  }
  return std::max(at, floor);
}

std::size_t skip_spaces(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const auto c = code_point_at(text, at);
    if (!is_space(c.value)) break;
    at += c.bytes;
  }
  return at;
}

}  // namespace

bool TextSet::add(std::string_view text, std::uint32_t value) {
  const std::string backwards(text.rbegin(), text.rend());
  if (!trie_.add(backwards, value)) return false;
  lasts_[static_cast<unsigned char>(text.back())] = true;
  std::uint32_t at = ByteTrie::kRoot;
  for (const char byte : backwards) {
    const std::uint32_t child = trie_.step(at, byte);
    if (child == nodes_.size()) nodes_.push_back({at, nodes_[at].depth + 1, byte, ByteTrie::kRoot, kNone});
    at = child;
  }
  return true;
}

std::uint32_t TextSet::step(std::uint32_t node, char byte) const {
  while (true) {
    const std::uint32_t child = trie_.step(node, byte);
    if (child != kNone) return child;
    if (node == ByteTrie::kRoot) return node;
    node = nodes_[node].fallback;
  }
}

void TextSet::link() {
  std::vector<std::uint32_t> order(nodes_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return nodes_[a].depth < nodes_[b].depth; });
  for (const std::uint32_t at : order) {
    Node& node = nodes_[at];
    if (node.depth > 1) node.fallback = step(nodes_[node.parent].fallback, node.byte);
    node.longest = trie_.value(at) != kNone ? trie_.value(at) : nodes_[node.fallback].longest;
  }
}

std::vector<std::uint32_t> TextSet::longest_at(std::string_view text) const {
  std::vector<std::uint32_t> out(text.size(), kNone);
  std::uint32_t at = ByteTrie::kRoot;
  for (std::size_t i = text.size(); i-- > 0;) {
    if (at == ByteTrie::kRoot && !lasts_[static_cast<unsigned char>(text[i])]) continue;
    at = step(at, text[i]);
    out[i] = nodes_[at].longest;
  }
  return out;
}

Result<AddedVocabulary> AddedVocabulary::parse(const Cursor& root, const TokenModel& model,
                                               const Normalizer& normalizer) {
  AddedVocabulary out;
  const auto list = root.find("added_tokens");
  if (!list) return out;
  CALKIT_TRY(const auto items, list->items());
  auto next_id = static_cast<TokenId>(model.size());
  Normalizer::Run run(normalizer);
  for (const Cursor& item : items) CALKIT_CHECK_OK(out.add(item, model, next_id, run));
  out.raw_.link();
  out.normal_.link();
  return out;
}

Status AddedVocabulary::add(const Cursor& at, const TokenModel& model, TokenId& next_id, Normalizer::Run& normalizer) {
  CALKIT_CHECK_OK(at.only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}));
  AddedToken token;
  CALKIT_TRY(const auto id, at.integer("id", 0, INT32_MAX));
  CALKIT_TRY(token.content, at.string("content"));
  CALKIT_TRY(token.single_word, at.boolean("single_word"));
  CALKIT_TRY(token.lstrip, at.boolean("lstrip"));
  CALKIT_TRY(token.rstrip, at.boolean("rstrip"));
  CALKIT_TRY(token.normalized, at.boolean("normalized"));
  CALKIT_TRY(token.special, at.boolean("special"));
  token.id = static_cast<TokenId>(id);
  if (token.content.empty() || token.content.size() > kMaxContent)
    return at.error(fmt::format("a content of {} bytes", token.content.size()),
                    fmt::format("1 to {} bytes", kMaxContent));
  // The peer does not read the id: an entry of the vocabulary keeps its own, all others are numbered on in file order.
  const auto known = model.vocabulary().find(token.content);
  const TokenId given = known != model.vocabulary().end() ? known->second : next_id++;
  if (token.id != given)
    return at.error(fmt::format("id {} for \"{}\"", token.id, token.content), fmt::format("{}", given),
                    known != model.vocabulary().end()
                        ? "the vocabulary has another id for this token"
                        : "added tokens follow the vocabulary without a gap, in file order");
  if (by_content_.contains(token.content) || by_id_.contains(token.id))
    return at.error(fmt::format("\"{}\" with id {} a second time", token.content, token.id), "each added token once");
  std::string form = token.content;
  if (token.normalized) {
    CALKIT_TRY(auto normal, normalizer.apply(form));
    form = std::move(normal.text);
  }
  if (form.empty()) return at.error(fmt::format("\"{}\"", token.content), "a token that normalising leaves a part of");
  if (!(token.normalized ? normal_ : raw_).add(form, static_cast<std::uint32_t>(tokens_.size())))
    return at.error(fmt::format("\"{}\"", token.content), "tokens that differ after normalisation");
  if (form != token.content) normalised_.emplace(token.id, form);
  if (token.special) special_.insert(token.content);
  found_bytes_.push_back(form.size());
  by_id_.emplace(token.id, tokens_.size());
  by_content_.emplace(token.content, token.id);
  tokens_.push_back(std::move(token));
  return {};
}

std::vector<Part> AddedVocabulary::split(std::string_view text, bool raw) const {
  const TextSet& set = raw ? raw_ : normal_;
  std::vector<Part> out;
  if (set.empty()) {
    if (!text.empty()) out.push_back({text, kNoToken});
    return out;
  }
  const auto longest = set.longest_at(text);
  std::size_t done = 0;
  for (std::size_t at = 0, next = 0; at < text.size(); at = next) {
    next = at + 1;
    if (longest[at] == TextSet::kNone) continue;
    const AddedToken& token = tokens_[longest[at]];
    std::size_t begin = at, end = at + found_bytes_[longest[at]];
    next = end;
    if (token.single_word && !stands_alone(text, begin, end)) continue;
    if (token.lstrip) begin = skip_spaces_back(text, begin, std::min(done, begin));
    if (token.lstrip) begin = std::max(begin, done);
    if (token.rstrip) end = skip_spaces(text, end);
    if (done < begin) out.push_back({text.substr(done, begin - done), -1});
    if (begin < end) out.push_back({text.substr(begin, end - begin), token.id});
    done = end;
  }
  if (done < text.size()) out.push_back({text.substr(done), -1});
  return out;
}

const AddedToken* AddedVocabulary::find(TokenId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

std::optional<TokenId> AddedVocabulary::id_of(std::string_view content) const {
  const auto found = by_content_.find(std::string(content));
  if (found == by_content_.end()) return std::nullopt;
  return found->second;
}

const std::string& AddedVocabulary::decoded(const AddedToken& token) const {
  const auto found = normalised_.find(token.id);
  return found == normalised_.end() ? token.content : found->second;
}

}  // namespace calkit::hf
