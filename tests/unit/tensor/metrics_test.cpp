#include "calkit/tensor/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "calkit/tensor/npz.h"

namespace calkit {
namespace {

using testing::ElementsAre;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Compare, AgreesWithNumpy) {
  auto read = read_npz(CALKIT_TEST_DATA "/npz/metrics.npz");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const auto& data = *read;
  const auto number = [&](const char* name) { return data.at(name).data<double>()[0]; };
  const Closeness c = compare(data.at("got").data<float>(), data.at("want").data<float>());
  EXPECT_EQ(c.count, 777u);
  EXPECT_EQ(c.non_finite, 0u);
  EXPECT_DOUBLE_EQ(c.max_abs, number("max_abs"));
  EXPECT_EQ(c.max_abs_index, static_cast<std::size_t>(data.at("max_abs_index").data<std::int64_t>()[0]));
  EXPECT_NEAR(*c.nmse / number("nmse"), 1, 1e-12);
  EXPECT_NEAR(*c.cosine, number("cosine"), 1e-14);
  const auto ids = top_k(data.at("got").data<float>(), 20);
  const auto want = data.at("top20").data<std::int64_t>();
  EXPECT_TRUE(std::equal(ids.begin(), ids.end(), want.begin(), want.end()));
}

TEST(Compare, NonFiniteElementsAreCountedAndLeftOut) {
  const std::vector<float> got = {1, kNan, 3, 4}, want = {1, 2, kInf, 5};
  const Closeness c = compare(got, want);
  EXPECT_EQ(c.count, 4u);
  EXPECT_EQ(c.non_finite, 2u);
  EXPECT_EQ(c.max_abs, 1);
  EXPECT_EQ(c.max_abs_index, 3u);
  EXPECT_DOUBLE_EQ(*c.nmse, 1.0 / 26);
}

TEST(Compare, AZeroReferenceHasNoRatio) {
  const std::vector<float> got = {1, 0}, want = {0, 0};
  const Closeness c = compare(got, want);
  EXPECT_EQ(c.nmse, std::nullopt);
  EXPECT_EQ(c.cosine, std::nullopt);
  EXPECT_EQ(c.max_abs, 1);
  EXPECT_EQ(compare({}, {}).count, 0u);
}

TEST(TopK, EqualValuesRankBySmallerIndexAndNanNeverRanks) {
  const std::vector<float> v = {1, 5, kNan, 5, kInf, -kInf};
  EXPECT_THAT(top_k(v, 3), ElementsAre(4, 1, 3));
  EXPECT_THAT(top_k(v, 99), ElementsAre(4, 1, 3, 0, 5));
  EXPECT_TRUE(top_k(v, 0).empty());
}

TEST(TopK, OverlapCountsSharedIds) {
  const std::vector<float> a = {9, 8, 7, 0}, b = {9, 0, 8, 7};
  EXPECT_DOUBLE_EQ(top_k_overlap(a, b, 2), 0.5);
  EXPECT_DOUBLE_EQ(top_k_overlap(a, a, 20), 1.0);
}

}  // namespace
}  // namespace calkit
