#include "calkit/measure/stats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "calkit/base/document.h"

namespace calkit::measure {
namespace {

std::vector<double> numbers(const Value& array) {
  std::vector<double> out;
  for (const Value& v : *array.if_array()) out.push_back(*v.if_number());
  return out;
}

TEST(Percentile, EqualsTheNearestRankOfTheFieldCase) {
  const auto samples = read_json(CALKIT_TEST_DATA "/cases/B03/samples.json");
  const auto expected = read_json(CALKIT_TEST_DATA "/cases/B03/expected.json");
  ASSERT_TRUE(samples.ok() && expected.ok());
  std::size_t compared = 0;
  for (const auto& [name, values] : *samples->if_object()) {
    const std::vector<double> set = numbers(values);
    const Value* want = expected->find(name);
    if (want->is_null()) {
      EXPECT_EQ(percentile(set, 0.5), std::nullopt);
      continue;
    }
    for (const auto& [percent, value] : *want->find("nearest_rank")->if_object()) {
      EXPECT_EQ(percentile(set, std::stod(percent) / 100), value.if_number()) << name << " P" << percent;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 28u);
}

TEST(Percentile, IsNotFooledByTheRoundingOfRanks) {
  std::vector<double> hundred;
  for (int i = 1; i <= 100; ++i) hundred.push_back(i);
  for (int p = 1; p <= 100; ++p) EXPECT_EQ(percentile(hundred, p / 100.0), p);
}

TEST(Percentile, NoAnswerForNoSamplesOrNan) {
  EXPECT_EQ(percentile({}, 0.5), std::nullopt);
  EXPECT_EQ(percentile(std::vector<double>{1, NAN}, 0.5), std::nullopt);
}

TEST(Summarize, IsOrderedAndCounts) {
  const Summary s = summarize(std::vector<double>{3, 1, 2});
  EXPECT_EQ(s.n, 3u);
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.p50, 2);
  EXPECT_EQ(s.p90, 3);
  EXPECT_EQ(s.p99, 3);
  EXPECT_EQ(s.max, 3);
  EXPECT_EQ(s.mean, 2);
  EXPECT_EQ(summarize({}).p99, std::nullopt);
}

TEST(TheilSen, FindsALineThroughOutliers) {
  std::vector<double> x, y;
  for (int i = 0; i < 40; ++i) {
    x.push_back(i);
    y.push_back(i % 9 == 0 ? 1000 : 3.0 * i + 7);
  }
  const auto slope = theil_sen(x, y);
  ASSERT_TRUE(slope);
  EXPECT_DOUBLE_EQ(slope->slope, 3);
  EXPECT_LE(slope->lower, 3);
  EXPECT_GE(slope->upper, 3);
}

TEST(TheilSen, FollowsSensWorkedRanks) {
  // n = 5 without ties: N = 10, var S = 50/3, M1 = floor((10 - 1.645 * 4.082) / 2) = 1: the smallest and largest slope.
  const std::vector<double> x = {0, 1, 2, 3, 4}, y = {0, 2, 1, 5, 4};
  const auto slope = theil_sen(x, y);
  ASSERT_TRUE(slope);
  EXPECT_DOUBLE_EQ(slope->slope, 1.25);
  EXPECT_DOUBLE_EQ(slope->lower, -1);
  EXPECT_DOUBLE_EQ(slope->upper, 4);
}

TEST(TheilSen, FewSamplesHaveNoBound) {
  const std::vector<double> x = {0, 1, 2}, y = {0, 1, 2};
  EXPECT_EQ(theil_sen(x, y)->lower, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(theil_sen(std::vector<double>{1, 1}, std::vector<double>{1, 2}), std::nullopt);
  EXPECT_EQ(theil_sen({}, {}), std::nullopt);
}

TEST(TheilSen, ManySamplesAreThinnedNotRefused) {
  std::vector<double> x, y;
  for (int i = 0; i < 20000; ++i) {
    x.push_back(i);
    y.push_back(0.5 * i);
  }
  EXPECT_DOUBLE_EQ(theil_sen(x, y)->slope, 0.5);
}

}  // namespace
}  // namespace calkit::measure
