#include "calkit/frozen/texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "baseline_support.h"

namespace calkit::frozen {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Texts, WhatIsWrittenIsRead) {
  const ScratchDir dir;
  TextReference texts;
  texts.source = Value::object({{"schema", "calkit.reference-source/1"}, {"kind", "server"}});
  texts.answers = {{"a", "two\nlines \xE2\x80\xA8", "stop", 3, 2}, {"b", "", "", std::nullopt, std::nullopt}};
  texts.refused = {{"c", "", std::nullopt, "status 400: no"}};
  ASSERT_TRUE(write_texts(dir.path(), texts).ok());
  ASSERT_TRUE(has_texts(dir.path()));
  const auto read = read_texts(dir.path());
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->answers.size(), 2u);
  EXPECT_EQ(read->answers[0].text, texts.answers[0].text);
  EXPECT_EQ(read->answers[0].prompt_tokens, 3);
  EXPECT_EQ(read->answers[1].completion_tokens, std::nullopt);
  ASSERT_EQ(read->refused.size(), 1u);
  EXPECT_EQ(read->refused[0].reason, "status 400: no");
  EXPECT_TRUE(read->source == texts.source);
}

class CompareTexts : public testing::Test {
 protected:
  CompareTexts() : tokenizer_(or_die(hf::Tokenizer::load(tiny_model() / "tokenizer.json"))) {
    reference_ = small_reference(4);
    std::erase_if(reference_.items, [](const ReferenceItem& item) { return item.greedy.empty(); });
  }

  std::string text(const ReferenceItem& item, std::size_t steps) const {
    std::vector<std::int32_t> tokens;
    for (std::size_t i = 0; i < steps; ++i) tokens.push_back(item.greedy[i].token);
    return tokenizer_.decode(tokens, true).text;
  }
  TextReference service() const {
    TextReference out;
    for (const auto& item : reference_.items)
      out.answers.push_back({item.prompt.id, text(item, item.greedy.size()), "length",
                             static_cast<std::int64_t>(item.ids.size()), std::nullopt});
    return out;
  }
  TextCompareReport compare(const TextReference& texts, const CompareLimits& limits = {}) {
    const ScratchDir dir;
    write_baseline(dir.path(), reference_);
    return or_die(compare_texts(dir.path(), texts, limits));
  }

  hf::Tokenizer tokenizer_;
  Reference reference_;
};

TEST_F(CompareTexts, TheSameTextsPass) {
  const auto report = compare(service());
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_EQ(report.equal, reference_.items.size());
}

TEST_F(CompareTexts, AServiceMayGoOnWhereOurStepsEnd) {
  auto texts = service();
  texts.answers[0].text += " and on";
  EXPECT_THAT(compare(texts).findings, IsEmpty());
}

TEST_F(CompareTexts, AnotherWordIsFoundAtItsStepWithTheMargin) {
  auto texts = service();
  const ReferenceItem& item = reference_.items[0];
  texts.answers[0].text = text(item, 3) + "\x01 something else";
  const auto report = compare(texts);
  ASSERT_EQ(report.different, 1u);
  EXPECT_EQ(report.prompts[0].step, 3u);
  EXPECT_EQ(report.prompts[0].margin, item.greedy[3].margin);
  EXPECT_THAT(report.findings, ElementsAre(HasSubstr("at step 3 with a margin of")));
}

TEST_F(CompareTexts, ALowMarginExcuses) {
  auto texts = service();
  texts.answers[0].text = text(reference_.items[0], 2) + "\x01";
  reference_.items[0].greedy[2].margin = 0.0005;
  const auto report = compare(texts, {.excused_share = 0.05});
  EXPECT_EQ(report.excused, 1u);
  EXPECT_THAT(report.findings, IsEmpty());
  std::uint64_t steps = 3;  // up to and with the excused one
  for (std::size_t i = 1; i < reference_.items.size(); ++i) steps += reference_.items[i].greedy.size();
  EXPECT_EQ(report.steps, steps);
}

TEST_F(CompareTexts, TooManyExcusedStepsAreAFinding) {
  auto texts = service();
  for (std::size_t i = 0; i < reference_.items.size(); ++i) {
    texts.answers[i].text = text(reference_.items[i], 2) + "\x01";
    reference_.items[i].greedy[2].margin = 0.0005;
  }
  const auto report = compare(texts, {.excused_share = 0.05});
  EXPECT_EQ(report.excused, reference_.items.size());
  EXPECT_THAT(report.findings, ElementsAre(HasSubstr("greedy steps differ where the baseline's margin is at most")));
}

TEST_F(CompareTexts, AnEmptyAnswerIsDifferentWhateverTheMargin) {
  auto texts = service();
  for (auto& answer : texts.answers) answer.text.clear();
  const auto report = compare(texts, {.margin = 1e9, .excused_share = 1});
  EXPECT_EQ(report.excused, 0u);
  EXPECT_EQ(report.different, reference_.items.size());
  EXPECT_THAT(report.findings, testing::Each(HasSubstr("the answer ends after 0 bytes")));
}

TEST_F(CompareTexts, AnAnswerThatEndsEarlyIsDifferent) {
  auto texts = service();
  texts.answers[0].text = text(reference_.items[0], 5);
  const auto report = compare(texts, {.margin = 1e9, .excused_share = 1});
  ASSERT_EQ(report.different, 1u);
  EXPECT_EQ(report.prompts[0].step, 5u);
  EXPECT_TRUE(report.prompts[0].ends_early);
}

TEST_F(CompareTexts, NothingMayFollowWhenTheServiceCountsNoMoreTokens) {
  auto texts = service();
  texts.answers[0].text += " and on";
  texts.answers[0].completion_tokens = static_cast<std::int64_t>(reference_.items[0].greedy.size());
  EXPECT_EQ(compare(texts).different, 1u);
  ++*texts.answers[0].completion_tokens;
  EXPECT_EQ(compare(texts).different, 0u);
}

// The tiny model's single-byte tokens, in the order of GPT-2's alphabet: three bytes of one character.
class CutTexts : public CompareTexts {
 protected:
  CutTexts() {
    const std::string euro[] = {"\xC3\xA2", "\xC4\xA4", "\xC2\xAC"};  // E2 82 AC as letters of the alphabet
    for (const std::string& letter : euro) {
      const auto id = tokenizer_.id_of(letter);
      if (id) bytes_.push_back(*id);
    }
  }
  /// The first prompt's run ends with `count` bytes of the character.
  void end_with(std::size_t count) {
    auto& greedy = reference_.items[0].greedy;
    for (std::size_t i = 0; i < count; ++i) greedy[greedy.size() - count + i].token = bytes_[i];
    for (auto& step : greedy) step.top_ids[0] = step.token;
  }
  std::string whole() const {
    const ReferenceItem& item = reference_.items[0];
    return text(item, item.greedy.size() - 2);
  }
  std::vector<std::int32_t> bytes_;
};

TEST_F(CutTexts, ACharacterThatTheStepsCutIsNoDifference) {
  ASSERT_EQ(bytes_.size(), 3u);
  end_with(2);
  auto texts = service();
  for (const char* end : {"", "\xEF\xBF\xBD", "\xE2\x82\xAC", "\xE2\x82\xAC and on"}) {
    texts.answers[0].text = whole() + end;
    EXPECT_EQ(compare(texts).equal, reference_.items.size()) << end;
  }
  texts.answers[0].text = whole() + "x";
  EXPECT_EQ(compare(texts).different, 1u);
  texts.answers[0].text = whole() + "\xE2\x82\xAC";
  texts.answers[0].completion_tokens = static_cast<std::int64_t>(reference_.items[0].greedy.size());
  EXPECT_EQ(compare(texts).different, 1u);
}

TEST_F(CutTexts, TextsPartAtAWholeCharacter) {
  ASSERT_EQ(bytes_.size(), 3u);
  end_with(3);
  auto texts = service();
  const ReferenceItem& item = reference_.items[0];
  const std::string before = text(item, item.greedy.size() - 3);
  texts.answers[0].text = before + "\xE2\x82\xAD";  // the first two bytes of three are those of the run
  const auto report = compare(texts);
  ASSERT_EQ(report.different, 1u);
  EXPECT_EQ(report.prompts[0].bytes_equal, before.size());
  EXPECT_EQ(report.prompts[0].wanted, "\xE2\x82\xAC");
  EXPECT_EQ(report.prompts[0].got, "\xE2\x82\xAD");
}

TEST_F(CutTexts, WhereThereIsNoTextNothingIsCompared) {
  ASSERT_EQ(bytes_.size(), 3u);
  auto& greedy = reference_.items[0].greedy;
  greedy.resize(2);
  end_with(2);
  auto texts = service();
  texts.answers[0].text = "\xE2\x82\xAC and whatever";
  const auto report = compare(texts);
  EXPECT_EQ(report.nothing, 1u);
  EXPECT_TRUE(report.prompts[0].nothing);
  EXPECT_EQ(report.equal, reference_.items.size() - 1);
  EXPECT_THAT(report.findings, IsEmpty());
  texts.answers[0].text = "";
  EXPECT_EQ(compare(texts).equal, reference_.items.size());
  texts.answers[0].text = "whatever";
  EXPECT_EQ(compare(texts).different, 1u);
  reference_.items.resize(1);
  texts.answers.resize(1);
  texts.answers[0].text = "\xE2\x82\xAC and whatever";
  const ScratchDir dir;
  write_baseline(dir.path(), reference_);
  EXPECT_THAT(compare_texts(dir.path(), texts, {}).error().message, HasSubstr("no prompt with a text"));
}

TEST_F(CompareTexts, OtherTokenCountsAreFound) {
  auto texts = service();
  *texts.answers[0].prompt_tokens += 1;
  EXPECT_THAT(compare(texts).findings, ElementsAre(HasSubstr("prompt tokens")));
}

TEST_F(CompareTexts, NoPromptInCommonIsNoComparison) {
  const ScratchDir dir;
  write_baseline(dir.path(), reference_);
  TextReference texts;
  texts.answers = {{"somebody else's", "x", "", std::nullopt, std::nullopt}};
  EXPECT_FALSE(compare_texts(dir.path(), texts, {}).ok());
}

}  // namespace
}  // namespace calkit::frozen
