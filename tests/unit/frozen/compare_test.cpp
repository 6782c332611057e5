#include <gmock/gmock.h>

#include <limits>

#include "baseline_support.h"
#include "calkit/frozen/difference.h"

namespace calkit::frozen {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

GreedyStep step(std::int32_t token, double margin) {
  return {token, margin, {token, 99}, {1.0f, static_cast<float>(1.0 - margin)}};
}
ReferenceItem item(const std::string& id, std::vector<GreedyStep> steps) {
  return {{id, "kind", "text", false}, {1, 2, 3}, {1.0f, 2.0f, 3.0f}, std::move(steps)};
}
Reference reference(std::vector<ReferenceItem> items) {
  return {"fp32", std::move(items)};
}

/// One prompt with a flip at step 1 among many that agree.
Reference many(double margin, std::int32_t token) {
  std::vector<ReferenceItem> items;
  for (int i = 0; i < 100; ++i) items.push_back(item("p" + std::to_string(i), {step(5, 2), step(6, 2), step(7, 2)}));
  items[0].greedy[1] = step(token, margin);
  return reference(items);
}

TEST(CompareReferences, AReferenceEqualsItself) {
  const Reference peer = or_die(read_reference(tiny_golden(), "fp32"));
  const auto report = or_die(compare_references(peer, peer, {}));
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_EQ(report.prompts, peer.items.size());
  EXPECT_EQ(report.steps, report.steps_equal);
  EXPECT_EQ(report.nmse_max, 0.0);
}

TEST(CompareReferences, AFlipWithinTheMarginIsExcusedCountedAndEndsThatPrompt) {
  Reference got = many(0.0005, 6);
  got.items[0].greedy[1].token = 8;
  got.items[0].greedy[2].token = 9;  // follows the other text: says nothing
  const auto report = or_die(compare_references(got, many(0.0005, 6), {}));
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_EQ(report.steps, 299u);
  EXPECT_EQ(report.steps_excused, 1u);
  EXPECT_EQ(report.steps_equal, 298u);
  EXPECT_EQ(report.steps_not_compared, 1u);
}

TEST(CompareReferences, AFlipBeyondTheMarginIsAFindingThatNamesIt) {
  const auto report = or_die(compare_references(many(2, 8), many(2, 6), {}));
  EXPECT_EQ(report.steps_different, 1u);
  EXPECT_THAT(report.findings, ElementsAre(AllOf(HasSubstr("prompt p0"), HasSubstr("step 1"), HasSubstr("token 8"),
                                                 HasSubstr("wanted 6"), HasSubstr("margin 2"))));
}

// Two experts with nearly the same score: a last bit decides, however large the margin of the logits.
TEST(CompareReferences, ARoutersMarginExcusesAndSaysSo) {
  Reference got = many(2, 8);
  got.items[0].greedy[1].router_margin = 0.005;
  const CompareLimits limits{.router_margin = 0.0078125};
  const auto report = or_die(compare_references(got, many(2, 6), limits));
  EXPECT_EQ(report.steps_excused, 1u);
  EXPECT_EQ(report.excused_by_router, 1u);
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_THAT(report.told, ElementsAre(AllOf(HasSubstr("prompt p0: greedy step 1"), HasSubstr("margin 2"),
                                             HasSubstr("within 0.005"))));
  const auto detail = or_die(compare_in_detail(got, many(2, 6), limits));
  EXPECT_EQ(detail.prompts[0].verdict, PromptComparison::Verdict::kExcused);
  EXPECT_TRUE(detail.prompts[0].by_router);
  got.items[0].greedy[1].router_margin = 0.01;
  EXPECT_EQ(or_die(compare_references(got, many(2, 6), limits)).steps_different, 1u);
  got.items[0].greedy[1].router_margin = 0.005;
  EXPECT_EQ(or_die(compare_references(got, many(2, 6), {})).steps_different, 1u);  // FP32 has no such limit
  for (auto& item : got.items) {
    item.greedy[1] = step(8, 2);
    item.greedy[1].router_margin = 0;
  }
  EXPECT_THAT(or_die(compare_references(got, many(2, 6), limits)).findings,
              ElementsAre(HasSubstr("or a router's explains it; allowed: a share of 0.01")));
}

TEST(CompareReferences, TheMarginIsTheReferences) {
  Reference got = many(5, 8);
  EXPECT_EQ(or_die(compare_references(got, many(0.001, 6), {})).steps_excused, 1u);
  EXPECT_EQ(or_die(compare_references(got, many(0.00101, 6), {})).steps_different, 1u);
}

TEST(CompareReferences, TooManyExcusedStepsAreAFinding) {
  const Reference want = reference({item("a", {step(5, 0.0001), step(6, 2)})});
  const Reference got = reference({item("a", {step(7, 2), step(6, 2)})});
  const auto report = or_die(compare_references(got, want, {}));
  EXPECT_THAT(report.findings, ElementsAre(HasSubstr("1 of 1 greedy steps")));
}

TEST(CompareReferences, LogitsBeyondTheLimitAndNonFiniteOnesAreFindings) {
  const Reference want = reference({item("a", {step(5, 2)})});
  Reference got = want;
  got.items[0].logits[1] = 2.001f;
  EXPECT_THAT(or_die(compare_references(got, want, {})).findings, ElementsAre(HasSubstr("logits NMSE")));
  EXPECT_EQ(or_die(compare_references(got, want, {})).worst_prompt, "a");
  EXPECT_THAT(or_die(compare_references(got, want, {.nmse = 1e-3})).findings, IsEmpty());
  got.items[0].logits[1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(or_die(compare_references(got, want, {.nmse = 1e9})).findings, ElementsAre(HasSubstr("1 of 3 logits")));
  got.items[0].logits.pop_back();
  EXPECT_THAT(or_die(compare_references(got, want, {})).findings, ElementsAre(HasSubstr("2 logits; wanted 3")));
}

TEST(CompareReferences, APromptWithIdsAndNoGreedyRunIsAFindingBothWays) {
  const Reference full = reference({item("a", {step(5, 2)})}), none = reference({item("a", {})});
  EXPECT_THAT(or_die(compare_references(none, full, {})).findings, ElementsAre(HasSubstr("no greedy steps")));
  EXPECT_THAT(or_die(compare_references(full, none, {})).findings, ElementsAre(HasSubstr("steps in the reference")));
  EXPECT_THAT(or_die(compare_references(none, none, {})).findings, ElementsAre(HasSubstr("no greedy steps")));
  Reference empty = none;
  empty.items[0].ids.clear();
  empty.items[0].logits.clear();
  EXPECT_THAT(or_die(compare_references(empty, empty, {})).findings, IsEmpty());
}

TEST(CompareReferences, OtherIdsAreAFindingAndNothingMoreIsCompared) {
  const Reference want = reference({item("a", {step(5, 2)}), item("b", {step(5, 2)})});
  Reference got = want;
  got.items[0].ids.push_back(4);
  const auto report = or_die(compare_references(got, want, {}));
  EXPECT_EQ(report.ids_different, 1u);
  EXPECT_EQ(report.steps, 1u);
  EXPECT_THAT(report.findings, ElementsAre(HasSubstr("prompt a")));
}

TEST(CompareReferences, NothingInCommonIsNoVerdict) {
  const Reference one = reference({item("a", {})}), other = reference({item("b", {})});
  const auto report = compare_references(one, other, {});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().kind, ErrorKind::kInput);
  Reference bf16 = one;
  bf16.dtype = "bf16";
  EXPECT_FALSE(compare_references(bf16, one, {}).ok());
}

}  // namespace
}  // namespace calkit::frozen
