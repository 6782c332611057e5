#include "tokenizer_split.h"

#include <algorithm>

#include "calkit/base/unicode.h"
#include "tokenizer_bytes.h"
#include "unicode_table.h"

namespace calkit::hf {
namespace {

// Each character that `matches` takes is a match of its own.
template <class Matches>
void find_each(std::string_view text, Matches matches, std::vector<Found>& out) {
  std::size_t covered = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto c = code_point_at(text, at);
    if (matches(c.value)) {
      if (covered < at) out.push_back({covered, at, false});
      out.push_back({at, at + c.bytes, true});
      covered = at + c.bytes;
    }
    at += c.bytes;
  }
  if (covered < text.size()) out.push_back({covered, text.size(), false});
}

void find_characters(std::string_view text, std::span<const CodeRange> set, std::vector<Found>& out) {
  find_each(text, [&](char32_t c) { return in_ranges(set, c); }, out);
}
void find_character(std::string_view text, char32_t wanted, std::vector<Found>& out) {
  find_each(text, [&](char32_t c) { return c == wanted; }, out);
}

// Runs of word characters and runs of what is neither word nor space are the matches; runs of spaces lie between.
void find_words(std::string_view text, std::vector<Found>& out) {
  static const auto words = unicode_ranges("added_word");
  static const auto spaces = unicode_ranges("space");
  const auto kind_of = [&](char32_t c) { return in_ranges(words, c) ? 2 : in_ranges(spaces, c) ? 0 : 1; };
  int last = -1;
  for (std::size_t at = 0; at < text.size();) {
    const auto c = code_point_at(text, at);
    const int kind = kind_of(c.value);
    if (kind == last)
      out.back().end += c.bytes;
    else
      out.push_back({at, at + c.bytes, kind != 0});
    last = kind;
    at += c.bytes;
  }
}

// Joins each piece to the one before it where `joins(this is a match, the one before was a match)` holds.
template <class Joins>
std::vector<Found> join(const std::vector<Found>& found, Joins joins) {
  std::vector<Found> out;
  bool previous = false;
  for (const Found& piece : found) {
    if (!out.empty() && joins(piece.match, previous)) {
      out.back().begin = std::min(out.back().begin, piece.begin);
      out.back().end = std::max(out.back().end, piece.end);
    } else {
      out.push_back(piece);
    }
    previous = piece.match;
  }
  return out;
}

}  // namespace

void apply_behavior(std::string_view text, std::vector<Found> found, SplitBehavior behavior, bool invert,
                    std::vector<std::string_view>& out) {
  if (invert)
    for (Found& piece : found) piece.match = !piece.match;
  const auto match_after_gap = [](bool match, bool previous) { return match && !previous; };
  switch (behavior) {
    case SplitBehavior::kRemoved:
      std::erase_if(found, [](const Found& piece) { return piece.match; });
      break;
    case SplitBehavior::kIsolated:
      break;
    case SplitBehavior::kContiguous:
      found = join(found, [](bool match, bool previous) { return match == previous; });
      break;
    case SplitBehavior::kMergedWithPrevious:
      found = join(found, match_after_gap);
      break;
    case SplitBehavior::kMergedWithNext:
      std::reverse(found.begin(), found.end());
      found = join(found, match_after_gap);
      std::reverse(found.begin(), found.end());
      break;
  }
  for (const Found& piece : found)
    if (piece.begin < piece.end) out.push_back(text.substr(piece.begin, piece.end - piece.begin));
}

PreTokenizer::Run::Run(const PreTokenizer& steps) : steps_(steps) {
  for (const Step& step : steps_.steps_)
    matchers_.push_back(step.pattern ? std::make_unique<Pattern::Matcher>(*step.pattern) : nullptr);
}

Result<std::vector<std::string_view>> PreTokenizer::Run::words(std::string_view text, bool from_start) {
  made_.clear();
  std::vector<std::string_view> pieces;
  if (!text.empty()) pieces.push_back(text);
  for (std::size_t i = 0; i < matchers_.size(); ++i) {
    next_.clear();
    const char* first = nullptr;  // where the first piece begins as this step sees it
    for (std::size_t k = 0; k < pieces.size(); ++k) {
      const std::string_view piece = rewritten(i, pieces[k], from_start && k == 0);
      if (k == 0) first = piece.data();
      CALKIT_CHECK_OK(step(i, piece));
    }
    from_start = from_start && !next_.empty() && next_.front().data() == first;
    pieces.swap(next_);
    if (steps_.steps_[i].kind == Kind::kByteLevel && i + 1 < matchers_.size())
      for (std::string_view& piece : pieces) piece = made_.emplace_back(to_symbols(piece));
  }
  return pieces;
}

// What a step changes before it splits.
std::string_view PreTokenizer::Run::rewritten(std::size_t i, std::string_view piece, bool from_start) {
  const Step& step = steps_.steps_[i];
  if (step.prefix_space && !piece.starts_with(' ')) return made_.emplace_back(" " + std::string(piece));
  if (step.kind != Kind::kMetaspace) return piece;
  std::string mark;
  append_utf8(mark, step.metaspace.replacement);
  const PrependScheme scheme = step.metaspace.scheme;
  const bool prepends = scheme == PrependScheme::kAlways || (scheme == PrependScheme::kFirst && from_start);
  std::string& out = made_.emplace_back();
  if (prepends && !piece.starts_with(' ') && !piece.starts_with(mark)) out += mark;
  for (const char c : piece) {
    if (c == ' ')
      out += mark;
    else
      out += c;
  }
  return out;
}

Status PreTokenizer::Run::step(std::size_t i, std::string_view piece) {
  const Step& step = steps_.steps_[i];
  SplitBehavior behavior = step.behavior;
  bool invert = step.invert;
  found_.clear();
  if (step.kind == Kind::kMetaspace) {
    if (step.metaspace.split)
      find_character(piece, step.metaspace.replacement, found_);
    else
      found_.push_back({0, piece.size(), false});
    behavior = SplitBehavior::kMergedWithNext;
  } else if (step.kind == Kind::kWhitespace) {
    find_words(piece, found_);
    behavior = SplitBehavior::kRemoved;
    invert = true;
  } else if (step.kind == Kind::kCharacters) {
    find_characters(piece, step.characters, found_);
  } else if (matchers_[i]) {
    CALKIT_CHECK_OK(matchers_[i]->find(piece, found_));
  } else {
    found_.push_back({0, piece.size(), true});
  }
  apply_behavior(piece, found_, behavior, invert, next_);
  return {};
}

}  // namespace calkit::hf
