#include "calkit/runner/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "calkit/tensor/metrics.h"
#include "fake_model.h"

namespace calkit::runner {
namespace {

using frozen::GreedyStep;
using frozen::Reference;
using frozen::ReferenceItem;
using test::FakeModel;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto kTimeout = std::chrono::seconds(10);

GreedyStep step_of(const std::vector<float>& logits) {
  GreedyStep step;
  step.top_ids = top_k(logits, 20);
  for (const auto id : step.top_ids) step.top_logits.push_back(logits[static_cast<std::size_t>(id)]);
  step.token = step.top_ids.front();
  step.margin = static_cast<double>(step.top_logits[0]) - static_cast<double>(step.top_logits[1]);
  return step;
}

ReferenceItem item_of(const std::string& id, std::vector<std::int32_t> ids, std::size_t steps) {
  ReferenceItem item;
  item.prompt.id = id;
  item.ids = ids;
  item.logits = FakeModel::logits_of(ids, 64);
  auto sequence = ids;
  for (std::size_t i = 0; i < steps; ++i) {
    item.greedy.push_back(step_of(FakeModel::logits_of(sequence, 64)));
    sequence.push_back(item.greedy.back().token);
  }
  return item;
}

Reference reference() {
  Reference r;
  r.dtype = "fp32";
  r.items = {item_of("one", {1}, 4), item_of("two", {3, 5, 9}, 4), item_of("three", {60, 61}, 4)};
  return r;
}

Limits limits() {
  return {"fp32", 1e-9, 1e-3, 0.01, "why", "us", "C2", "test"};
}

TEST(CompareModel, AModelThatIsTheReferencePasses) {
  FakeModel model;
  const auto got = compare_model(model, reference(), limits(), kTimeout);
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_THAT(got->findings, IsEmpty());
  EXPECT_EQ(got->prompts.size(), 3u);
  EXPECT_EQ(got->steps, 12u);
  EXPECT_EQ(got->equal, 12u);
  EXPECT_EQ(got->nmse_max, 0.0);
  EXPECT_EQ(got->overlap_min, 1.0);
  EXPECT_NEAR(*got->cosine_min, 1.0, 1e-12);
  EXPECT_FALSE(got->first.has_value());
  EXPECT_EQ(model.open, 0u) << "every KV slot is given back";
}

TEST(CompareModel, AWrongTokenIsNamedWithItsStepMarginAndLogits) {
  FakeModel model;
  model.bend = [](std::size_t call, std::vector<float>& logits) {
    if (call == 7) std::rotate(logits.begin(), logits.begin() + 1, logits.end());  // second prompt, step 2
  };
  const auto got = compare_model(model, reference(), limits(), kTimeout);
  ASSERT_TRUE(got.ok());
  ASSERT_TRUE(got->first.has_value());
  EXPECT_EQ(got->first->prompt, "two");
  EXPECT_EQ(got->first->step, 2u);
  EXPECT_EQ(got->first->got, got->first->expected - 1);
  EXPECT_DOUBLE_EQ(got->first->margin, 0.25);
  EXPECT_DOUBLE_EQ(got->first->expected_logit, 10.0);
  EXPECT_EQ(got->different, 1u);
  EXPECT_EQ(got->equal, 11u) << "decoding went on along the reference's tokens";
  EXPECT_THAT(got->findings, Contains(HasSubstr("prompt 'two' step 2: expected token")));
}

// Two logits that nearly tie: the flip is excused and counted, and its margin is shown.
TEST(CompareModel, AFlipInsideTheMarginIsExcusedAndCounted) {
  auto want = reference();
  auto limit = limits();
  limit.margin = 0.3;
  limit.excused_share = 0.1;
  limit.nmse = 1e-2;
  FakeModel model;
  model.bend = [](std::size_t call, std::vector<float>& logits) {
    if (call == 2) {
      auto top = top_k(logits, 2);
      std::swap(logits[static_cast<std::size_t>(top[0])], logits[static_cast<std::size_t>(top[1])]);
    }
  };
  const auto got = compare_model(model, want, limit, kTimeout);
  ASSERT_TRUE(got.ok());
  EXPECT_THAT(got->findings, IsEmpty());
  EXPECT_EQ(got->excused, 1u);
  EXPECT_TRUE(got->first->excused);
  limit.excused_share = 0.01;  // 1 of 12 is more
  FakeModel again;
  again.bend = model.bend;
  EXPECT_THAT(compare_model(again, want, limit, kTimeout)->findings, Contains(HasSubstr("1 of 12 steps flipped")));
}

TEST(CompareModel, SmallErrorsInOneLogitAreFoundByNmse) {
  FakeModel model;
  model.bend = [](std::size_t call, std::vector<float>& logits) {
    if (call == 1) logits[40] += 0.5f;
  };
  const auto got = compare_model(model, reference(), limits(), kTimeout);
  EXPECT_EQ(got->prompts[0].max_abs_index, 40u);
  EXPECT_NEAR(got->prompts[0].max_abs, 0.5, 1e-6);
  EXPECT_EQ(got->worst_prompt, "one");
  EXPECT_THAT(got->findings, Contains(HasSubstr("prompt 'one' prefill: logits NMSE")));
}

TEST(CompareModel, ADecodeStepThatKeepsTheTokenButMovesLogitsIsFound) {
  FakeModel model;
  model.bend = [](std::size_t call, std::vector<float>& logits) {
    if (call == 3)
      for (float& v : logits) v *= 1.01f;
  };
  const auto got = compare_model(model, reference(), limits(), kTimeout);
  EXPECT_EQ(got->equal, 12u);
  EXPECT_THAT(got->findings, Contains(HasSubstr("prompt 'one' step 2: NMSE of the top 20 logits")));
}

// NaN logits: arg-max of a plain loop would be id 0 and the error 0; no token may be claimed for such a row.
TEST(CompareModel, NonFiniteLogitsFailAtTheirStepAndNoTokenIsReadFromThem) {
  FakeModel model;
  model.bend = [](std::size_t call, std::vector<float>& logits) {
    if (call == 3)
      for (float& v : logits) v = std::nanf("");
  };
  const auto got = compare_model(model, reference(), limits(), kTimeout);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->non_finite, 64u);
  EXPECT_EQ(got->prompts[0].steps, 2u) << "steps 0 and 1 were compared";
  EXPECT_EQ(got->prompts[0].equal, 2u);
  EXPECT_THAT(got->findings, Contains(HasSubstr("prompt 'one' step 2: 64 of 64 logits are NaN")));
  EXPECT_EQ(got->prompts[1].steps, 4u) << "the next prompt starts afresh";
}

TEST(CompareModel, AReferenceWithNonFiniteOrConstantLogitsIsRefused) {
  for (const float value : {std::numeric_limits<float>::infinity(), 0.0f}) {
    auto want = reference();
    if (value == 0.0f)
      std::fill(want.items[1].logits.begin(), want.items[1].logits.end(), value);
    else
      want.items[1].logits[3] = value;
    FakeModel model;
    const auto got = compare_model(model, want, limits(), kTimeout);
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().kind, ErrorKind::kInput);
    EXPECT_THAT(got.error().message, HasSubstr("prompt 'two'"));
    EXPECT_EQ(model.prefills, 0u) << "refused before anything ran";
  }
}

TEST(CompareModel, NothingToCompareIsNoPass) {
  auto want = reference();
  for (auto& item : want.items) item.ids.clear(), item.logits.clear(), item.greedy.clear();
  FakeModel model;
  const auto got = compare_model(model, want, limits(), kTimeout);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().kind, ErrorKind::kIncomplete);
}

TEST(CompareModel, PromptsWithoutTokensAreCountedNotCompared) {
  auto want = reference();
  want.items[0].ids.clear(), want.items[0].logits.clear(), want.items[0].greedy.clear();
  FakeModel model;
  const auto got = compare_model(model, want, limits(), kTimeout);
  EXPECT_EQ(got->without_tokens, 1u);
  EXPECT_EQ(got->prompts.size(), 2u);
}

TEST(CompareModel, AnOverLongPromptIsAnErrorThatNamesItAndTheLimit) {
  FakeModel model;
  model.facts_.max_prefill_tokens = 2;
  const auto got = compare_model(model, reference(), limits(), kTimeout);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().kind, ErrorKind::kInput);
  EXPECT_THAT(got.error().message, HasSubstr("prompt 'two' is too long: found 3 tokens; allowed: 2"));
  EXPECT_EQ(model.prefills, 0u);
}

TEST(CompareModel, StepsBeyondTheContextAreAnErrorOnTheFirstTokenThatDoesNotFit) {
  FakeModel model;
  model.facts_.context = 6;  // 3 tokens + 3 decoded ones fit exactly
  EXPECT_TRUE(compare_model(model, reference(), limits(), kTimeout).ok());
  model.facts_.context = 5;
  EXPECT_FALSE(compare_model(model, reference(), limits(), kTimeout).ok());
}

TEST(CompareModel, AnotherVocabularyIsRefused) {
  FakeModel model;
  model.facts_.vocab = 65;
  const auto got = compare_model(model, reference(), limits(), kTimeout);
  ASSERT_FALSE(got.ok());
  EXPECT_THAT(got.error().message, HasSubstr("64 logits"));
}

TEST(CompareModel, ADeviceErrorKeepsItsKindAndNamesPromptAndStep) {
  for (const ErrorKind kind : {ErrorKind::kDevice, ErrorKind::kTimeout}) {
    FakeModel model;
    model.fail = [kind](std::size_t call) {
      return call == 6 ? std::optional(Error(kind, "job 6 was lost")) : std::nullopt;
    };
    const auto got = compare_model(model, reference(), limits(), kTimeout);
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().kind, kind);
    EXPECT_THAT(got.error().context, Contains(HasSubstr("decoding step 1 of prompt 'two'")));
    EXPECT_EQ(model.open, 0u);
    EXPECT_EQ(model.prefills + model.decodes, 6u) << "nothing is submitted after a lost job";
  }
}

}  // namespace
}  // namespace calkit::runner
