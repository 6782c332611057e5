#include <fmt/format.h>

#include <algorithm>

#include "tokenizer_normalize.h"
#include "tokenizer_parts.h"

namespace calkit::hf {
namespace {

constexpr std::size_t kMaxText = 64;

Result<std::string> short_text(const Cursor& at, std::string_view key) {
  CALKIT_TRY(auto text, at.string(key));
  if (text.size() > kMaxText)
    return at.error(fmt::format("\"{}\" of {} bytes", key, text.size()), fmt::format("at most {} bytes", kMaxText));
  return text;
}

}  // namespace

Result<Replacement> Replacement::parse(const Cursor& at) {
  CALKIT_CHECK_OK(at.only({"type", "pattern", "content"}));
  Replacement out;
  CALKIT_TRY(out.content_, short_text(at, "content"));
  CALKIT_TRY(const auto pattern, at.at("pattern"));
  CALKIT_CHECK_OK(pattern.only({"Regex", "String"}));
  const auto regex = pattern.find("Regex");
  const auto text = pattern.find("String");
  if (regex.has_value() == text.has_value())
    return pattern.error(pattern.value().describe(), "one of \"Regex\" and \"String\"");
  CALKIT_TRY(const auto wanted, (regex ? *regex : *text).as_string());
  if (wanted.empty()) return pattern.error("an empty text to replace", "a text of at least one character");
  if (regex) {
    CALKIT_TRY(auto compiled, Pattern::regex(wanted, *regex));
    out.pattern_ = std::make_unique<Pattern>(std::move(compiled));
  } else {
    out.literal_ = wanted;
  }
  return out;
}

std::size_t Replacement::growth() const {
  if (pattern_) return content_.size() + 1;  // a pattern may match between any two characters
  return std::max<std::size_t>(1, (content_.size() + literal_.size() - 1) / literal_.size());
}

Result<Normalizer> Normalizer::parse(const Cursor& root) {
  Normalizer out;
  if (const auto at = root.find("normalizer")) CALKIT_CHECK_OK(out.add(*at, 0));
  return out;
}

Status Normalizer::add(const Cursor& at, int depth) {
  CALKIT_TRY(const auto type, at.string("type"));
  if (type != "Sequence") return add_leaf(at, type);
  CALKIT_TRY(const auto items, read_sequence(at, "normalizers", depth));
  for (const Cursor& item : items) CALKIT_CHECK_OK(add(item, depth + 1));
  return {};
}

Status Normalizer::add_leaf(const Cursor& at, const std::string& type) {
  struct Plain {
    std::string_view type;
    Kind kind;
    NormalForm form;
  };
  constexpr Plain kPlain[] = {{"NFC", Kind::kForm, NormalForm::kNfc},
                              {"NFD", Kind::kForm, NormalForm::kNfd},
                              {"NFKC", Kind::kForm, NormalForm::kNfkc},
                              {"NFKD", Kind::kForm, NormalForm::kNfkd},
                              {"Lowercase", Kind::kLowercase, {}},
                              {"StripAccents", Kind::kStripAccents, {}},
                              {"Nmt", Kind::kNmt, {}}};
  Step step;
  for (const Plain& plain : kPlain) {
    if (plain.type != type) continue;
    step.kind = plain.kind;
    step.form = plain.form;
    steps_.push_back(std::move(step));
    return at.only({"type"});
  }
  if (type == "Strip") {
    CALKIT_CHECK_OK(at.only({"type", "strip_left", "strip_right"}));
    step.kind = Kind::kStrip;
    CALKIT_TRY(step.left, at.boolean("strip_left"));
    CALKIT_TRY(step.right, at.boolean("strip_right"));
  } else if (type == "Replace") {
    step.kind = Kind::kReplace;
    CALKIT_TRY(auto replacement, Replacement::parse(at));
    growth_ *= replacement.growth();
    if (growth_ > kMaxGrowth)
      return at.error(fmt::format("replacements that may make a text {} times as long", growth_),
                      fmt::format("{} times at most", kMaxGrowth));
    step.replacement = std::make_unique<Replacement>(std::move(replacement));
  } else if (type == "Prepend") {
    CALKIT_CHECK_OK(at.only({"type", "prepend"}));
    step.kind = Kind::kPrepend;
    CALKIT_TRY(step.prefix, short_text(at, "prepend"));
  } else {
    return at.at("type").value().error(
        fmt::format("\"{}\"", type),
        "NFC, NFD, NFKC, NFKD, Lowercase, Strip, StripAccents, Nmt, Replace, Prepend, or a Sequence of them",
        type == "Precompiled"
            ? "a Precompiled map (SentencePiece's own normalizer, as T5 has it) would need its trie of replacements"
            : "calkit does not do this normalizer");
  }
  steps_.push_back(std::move(step));
  return {};
}

}  // namespace calkit::hf
