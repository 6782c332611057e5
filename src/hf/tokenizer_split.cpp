#include "tokenizer_split.h"

#include <fmt/format.h>

#include <algorithm>

#include "unicode_table.h"

namespace calkit::hf {
namespace {

constexpr int kMaxNesting = 8;
// What a ByteLevel with use_regex splits with; GPT-2's.
constexpr std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

std::vector<Found> find_digits(std::string_view text) {
  static const auto numeric = unicode_ranges("numeric");
  std::vector<Found> out;
  std::size_t covered = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto c = code_point_at(text, at);
    if (in_ranges(numeric, c.value)) {
      if (covered < at) out.push_back({covered, at, false});
      out.push_back({at, at + c.bytes, true});
      covered = at + c.bytes;
    }
    at += c.bytes;
  }
  if (covered < text.size()) out.push_back({covered, text.size(), false});
  return out;
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

Result<SplitBehavior> read_behavior(const Cursor& at) {
  CALKIT_TRY(const auto field, at.at("behavior"));
  CALKIT_TRY(const auto word,
             field.as_word({"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"}));
  if (word == "Removed") return SplitBehavior::kRemoved;
  if (word == "Isolated") return SplitBehavior::kIsolated;
  if (word == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (word == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  return SplitBehavior::kContiguous;
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

Result<PreTokenizer> PreTokenizer::parse(const Cursor& at) {
  PreTokenizer out;
  CALKIT_CHECK_OK(out.add(at, 0));
  if (!out.byte_level_)
    return at.error("no ByteLevel", "a ByteLevel, alone or at the end of a Sequence",
                    "calkit reads byte-level BPE tokenizers");
  return out;
}

Status PreTokenizer::add(const Cursor& at, int depth) {
  CALKIT_TRY(const auto type, at.string("type"));
  if (byte_level_) return at.error(fmt::format("{} behind a ByteLevel", type), "the ByteLevel as the last step");
  if (type == "Sequence") {
    if (depth >= kMaxNesting)
      return at.error("Sequences inside Sequences", fmt::format("{} deep at most", kMaxNesting));
    CALKIT_CHECK_OK(at.only({"type", "pretokenizers"}));
    CALKIT_TRY(const auto list, at.at("pretokenizers"));
    CALKIT_TRY(const auto items, list.items());
    for (const Cursor& item : items) CALKIT_CHECK_OK(add(item, depth + 1));
    return {};
  }
  if (type == "Split") return add_split(at);
  if (type == "ByteLevel") return add_byte_level(at);
  if (type == "Digits") {
    CALKIT_CHECK_OK(at.only({"type", "individual_digits"}));
    CALKIT_TRY(const bool single, at.boolean("individual_digits"));
    Step step;
    step.digits = true;
    step.behavior = single ? SplitBehavior::kIsolated : SplitBehavior::kContiguous;
    steps_.push_back(std::move(step));
    return {};
  }
  return at.at("type").value().error(fmt::format("\"{}\"", type),
                                     "\"Sequence\", \"Split\", \"Digits\" or \"ByteLevel\"",
                                     "calkit does not do this pre-tokenizer");
}

Status PreTokenizer::add_split(const Cursor& at) {
  CALKIT_CHECK_OK(at.only({"type", "pattern", "behavior", "invert"}));
  CALKIT_TRY(const auto pattern, at.at("pattern"));
  CALKIT_CHECK_OK(pattern.only({"Regex", "String"}));
  Step step;
  CALKIT_TRY(step.behavior, read_behavior(at));
  CALKIT_TRY(step.invert, at.boolean("invert"));
  const auto regex = pattern.find("Regex");
  const auto text = pattern.find("String");
  if (regex.has_value() == text.has_value())
    return pattern.error(pattern.value().describe(), "one of \"Regex\" and \"String\"");
  const Cursor& field = regex ? *regex : *text;
  CALKIT_TRY(const auto content, field.as_string());
  CALKIT_TRY(step.pattern, regex ? Pattern::regex(content, field) : Pattern::literal(content, field));
  steps_.push_back(std::move(step));
  return {};
}

Status PreTokenizer::add_byte_level(const Cursor& at) {
  CALKIT_CHECK_OK(at.only({"type", "add_prefix_space", "trim_offsets", "use_regex"}));
  Step step;
  CALKIT_TRY(step.prefix_space, at.boolean("add_prefix_space"));
  bool use_regex = true;
  if (const auto flag = at.find("use_regex")) {
    CALKIT_TRY(use_regex, flag->as_bool());
  }
  if (use_regex) {
    CALKIT_TRY(step.pattern, Pattern::regex(kByteLevelPattern, at));
  }
  steps_.push_back(std::move(step));
  byte_level_ = true;
  return {};
}

PreTokenizer::Run::Run(const PreTokenizer& steps) : steps_(steps) {
  for (const Step& step : steps_.steps_)
    matchers_.push_back(step.pattern ? std::make_unique<Pattern::Matcher>(*step.pattern) : nullptr);
}

Result<std::vector<std::string_view>> PreTokenizer::Run::words(std::string_view text) {
  std::vector<std::string_view> pieces = {text}, next;
  std::vector<Found> found;
  for (std::size_t i = 0; i < matchers_.size(); ++i) {
    const Step& step = steps_.steps_[i];
    next.clear();
    for (std::string_view piece : pieces) {
      if (step.prefix_space && !piece.starts_with(' ')) piece = made_.emplace_back(" " + std::string(piece));
      found.clear();
      if (matchers_[i])
        CALKIT_CHECK_OK(matchers_[i]->find(piece, found));
      else if (step.digits)
        found = find_digits(piece);
      else
        found.push_back({0, piece.size(), true});
      apply_behavior(piece, std::move(found), step.behavior, step.invert, next);
    }
    pieces.swap(next);
  }
  return pieces;
}

}  // namespace calkit::hf
