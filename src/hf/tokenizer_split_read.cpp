#include <fmt/format.h>

#include "calkit/base/unicode.h"
#include "tokenizer_parts.h"
#include "tokenizer_split.h"

namespace calkit::hf {
namespace {

constexpr std::size_t kMaxSteps = 32;
// What a ByteLevel with use_regex splits with; GPT-2's.
constexpr std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

Result<SplitBehavior> read_behavior(const Cursor& field) {
  CALKIT_TRY(const auto word,
             field.as_word({"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"}));
  if (word == "Removed") return SplitBehavior::kRemoved;
  if (word == "Isolated") return SplitBehavior::kIsolated;
  if (word == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (word == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  return SplitBehavior::kContiguous;
}

}  // namespace

Result<PreTokenizer> PreTokenizer::parse(const Cursor& root) {
  PreTokenizer out;
  if (const auto at = root.find("pre_tokenizer")) CALKIT_CHECK_OK(out.add(*at, 0));
  return out;
}

Status PreTokenizer::add(const Cursor& at, int depth) {
  CALKIT_TRY(const auto type, at.string("type"));
  if (steps_.size() >= kMaxSteps) return at.error("one pre-tokenizer more", fmt::format("at most {}", kMaxSteps));
  if (type != "Sequence") return add_leaf(at, type);
  CALKIT_TRY(const auto items, read_sequence(at, "pretokenizers", depth));
  for (const Cursor& item : items) CALKIT_CHECK_OK(add(item, depth + 1));
  return {};
}

Status PreTokenizer::add_leaf(const Cursor& at, const std::string& type) {
  Step step;
  if (type == "Split") {
    CALKIT_CHECK_OK(read_split(at, step));
  } else if (type == "ByteLevel") {
    for (const Step& before : steps_)
      if (before.kind == Kind::kByteLevel) return at.error("a second ByteLevel", "one");
    CALKIT_CHECK_OK(read_byte_level(at, step));
  } else if (type == "Metaspace") {
    step.kind = Kind::kMetaspace;
    CALKIT_TRY(step.metaspace, read_metaspace(at));
  } else if (type == "Digits" || type == "Punctuation") {
    CALKIT_CHECK_OK(read_characters(at, type, step));
  } else if (type == "Whitespace" || type == "WhitespaceSplit" || type == "CharDelimiterSplit") {
    CALKIT_CHECK_OK(read_simple(at, type, step));
  } else {
    return at.at("type").value().error(fmt::format("\"{}\"", type),
                                       "Sequence, Split, ByteLevel, Metaspace, Digits, Punctuation, Whitespace, "
                                       "WhitespaceSplit, CharDelimiterSplit, or null",
                                       "calkit does not do this pre-tokenizer");
  }
  steps_.push_back(std::move(step));
  return {};
}

Status PreTokenizer::read_split(const Cursor& at, Step& step) {
  CALKIT_CHECK_OK(at.only({"type", "pattern", "behavior", "invert"}));
  CALKIT_TRY(const auto pattern, at.at("pattern"));
  CALKIT_CHECK_OK(pattern.only({"Regex", "String"}));
  CALKIT_TRY(const auto behavior, at.at("behavior"));
  CALKIT_TRY(step.behavior, read_behavior(behavior));
  CALKIT_TRY(step.invert, at.boolean("invert"));
  const auto regex = pattern.find("Regex");
  const auto text = pattern.find("String");
  if (regex.has_value() == text.has_value())
    return pattern.error(pattern.value().describe(), "one of \"Regex\" and \"String\"");
  const Cursor& field = regex ? *regex : *text;
  CALKIT_TRY(const auto content, field.as_string());
  CALKIT_TRY(step.pattern, regex ? Pattern::regex(content, field) : Pattern::literal(content, field));
  return {};
}

Status PreTokenizer::read_byte_level(const Cursor& at, Step& step) {
  CALKIT_CHECK_OK(at.only({"type", "add_prefix_space", "trim_offsets", "use_regex"}));
  step.kind = Kind::kByteLevel;
  CALKIT_TRY(step.prefix_space, at.boolean("add_prefix_space"));
  bool use_regex = true;
  if (const auto flag = at.find("use_regex")) {
    CALKIT_TRY(use_regex, flag->as_bool());
  }
  if (use_regex) {
    CALKIT_TRY(step.pattern, Pattern::regex(kByteLevelPattern, at));
  }
  return {};
}

Status PreTokenizer::read_characters(const Cursor& at, const std::string& type, Step& step) {
  step.kind = Kind::kCharacters;
  if (type == "Digits") {
    CALKIT_CHECK_OK(at.only({"type", "individual_digits"}));
    CALKIT_TRY(const bool single, at.boolean("individual_digits"));
    step.characters = unicode_ranges("numeric");
    step.behavior = single ? SplitBehavior::kIsolated : SplitBehavior::kContiguous;
    return {};
  }
  CALKIT_CHECK_OK(at.only({"type", "behavior"}));
  step.characters = unicode_ranges("punctuation");
  if (const auto behavior = at.find("behavior")) {
    CALKIT_TRY(step.behavior, read_behavior(*behavior));
  }
  return {};
}

Status PreTokenizer::read_simple(const Cursor& at, const std::string& type, Step& step) {
  if (type == "Whitespace") {
    step.kind = Kind::kWhitespace;
    return at.only({"type"});
  }
  step.behavior = SplitBehavior::kRemoved;
  if (type == "WhitespaceSplit") {
    step.kind = Kind::kCharacters;
    step.characters = unicode_ranges("space");
    return at.only({"type"});
  }
  CALKIT_CHECK_OK(at.only({"type", "delimiter"}));
  CALKIT_TRY(const char32_t delimiter, read_character(at, "delimiter"));
  std::string text;
  append_utf8(text, delimiter);
  CALKIT_TRY(step.pattern, Pattern::literal(text, at));
  return {};
}

}  // namespace calkit::hf
