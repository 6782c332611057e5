#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "calkit/base/document.h"
#include "calkit/measure/stats.h"

namespace calkit::measure {
namespace {

using testing::HasSubstr;

std::vector<double> series(const std::string& field_case, const char* key) {
  const auto lines = read_json_lines(std::string(CALKIT_TEST_DATA) + "/cases/" + field_case + "/samples.jsonl");
  EXPECT_TRUE(lines.ok());
  std::vector<double> out;
  for (const Value& line : *lines) out.push_back(*line.find(key)->if_number());
  return out;
}

/// MiB after each cycle: a level, a warm-up that dies away, white noise of 0.5 MiB and a leak.
std::vector<double> synthetic(std::mt19937& random, std::size_t cycles, double leak) {
  std::normal_distribution<double> noise(0, 0.5);
  std::vector<double> out;
  for (std::size_t i = 0; i < cycles; ++i)
    out.push_back(300 - 40 * std::exp(-1.5 * static_cast<double>(i)) + leak * static_cast<double>(i) + noise(random));
  return out;
}

constexpr double kBudget = 0.05;  // MiB per cycle

int leaks_among(int runs, double leak) {
  std::mt19937 random(20260802);
  int found = 0;
  for (int run = 0; run < runs; ++run)
    found += judge_cycles(synthetic(random, 30, leak), kBudget).verdict == LeakVerdict::kLeak;
  return found;
}

TEST(JudgeCycles, FalseAlarmsAreAtMostOnePercent) {
  EXPECT_LE(leaks_among(2000, 0), 20);
}

TEST(JudgeCycles, AQuarterMebibyteACycleIsFoundInNinetyNinePercent) {
  EXPECT_GE(leaks_among(2000, 0.25), 1980);
}

TEST(JudgeCycles, ATokenizerKeptEachCycleIsALeak) {
  const LeakJudgement j = judge_cycles(series("K01", "rss_kb"), 500);
  EXPECT_EQ(j.verdict, LeakVerdict::kLeak);
  EXPECT_NEAR(j.slope->slope, 65532, 500);
}

TEST(JudgeCycles, MemoryThatRoseOnceAndStaysIsNoLeak) {
  const LeakJudgement j = judge_cycles(series("K02", "rss_kb"), 500);
  EXPECT_EQ(j.verdict, LeakVerdict::kPass);
  ASSERT_TRUE(j.jump);
  EXPECT_EQ(j.jump->cycle, 13u);
  EXPECT_NEAR(j.jump->to - j.jump->from, 39000, 2000);
  EXPECT_LT(std::fabs(j.late_slope->slope), 100);
  EXPECT_THAT(j.reason, HasSubstr("at cycle 13"));
}

TEST(JudgeCycles, AJumpInTheMiddleIsNoLeakWhereverItStands) {
  std::mt19937 random(7);
  for (std::size_t at = 1; at < 40; ++at) {
    std::vector<double> samples = synthetic(random, 40, 0);
    for (std::size_t i = at; i < samples.size(); ++i) samples[i] += 40;
    EXPECT_EQ(judge_cycles(samples, kBudget).verdict, LeakVerdict::kPass) << "jump at " << at;
  }
}

TEST(JudgeCycles, ADescriptorLeakIsFoundWhileMemoryIsFlat) {
  EXPECT_EQ(judge_cycles(series("K03", "fds"), 0).verdict, LeakVerdict::kLeak);
  EXPECT_NEAR(judge_cycles(series("K03", "fds"), 0).slope->slope, 1, 0.05);
  EXPECT_EQ(judge_cycles(series("K03", "rss_kb"), 50).verdict, LeakVerdict::kPass);
  EXPECT_EQ(judge_cycles(series("K02", "fds"), 0).verdict, LeakVerdict::kPass);
}

TEST(JudgeCycles, TooFewSamplesGiveNoVerdict) {
  std::mt19937 random(1);
  const LeakJudgement few = judge_cycles(synthetic(random, 29, 5), kBudget);
  EXPECT_EQ(few.verdict, LeakVerdict::kInconclusive);
  EXPECT_TRUE(few.slope);
  EXPECT_THAT(few.reason, HasSubstr("29 samples"));
  EXPECT_EQ(judge_cycles({}, kBudget).verdict, LeakVerdict::kInconclusive);
  std::vector<double> broken = synthetic(random, 40, 0);
  broken[20] = NAN;
  EXPECT_EQ(judge_cycles(broken, kBudget).verdict, LeakVerdict::kInconclusive);
}

}  // namespace
}  // namespace calkit::measure
