#include "exec/dot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace calkit::exec {
namespace {

std::vector<float> noise(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> out(count);
  for (float& value : out) value = normal(random);
  return out;
}

std::vector<BF16> rounded(const std::vector<float>& values) {
  std::vector<BF16> out;
  for (const float value : values) out.push_back(to_bf16(value));
  return out;
}

bool has_avx2() {
  return best_isa() == Isa::kAvx2;
}

TEST(Dot, TheVectorCodeGivesTheBitsOfItsScalarTwin) {
  if (!has_avx2()) GTEST_SKIP() << "this CPU has no AVX2";
  for (const std::size_t k : {1u, 7u, 8u, 9u, 15u, 16u, 17u, 31u, 96u, 1000u, 1024u, 2507u})
    for (const std::size_t m : {1u, 2u, 3u, 4u, 5u, 8u})
      for (const std::size_t n : {1u, 3u, 4u, 6u, 200u}) {
        const auto x = noise(m * k, 1), w = noise(n * k, 2);
        const auto w16 = rounded(w);
        for (const Rows rows : {Rows{w.data(), false, k}, Rows{w16.data(), true, k}}) {
          std::vector<float> fast(m * n), plain(m * n);
          dot_rows(Isa::kAvx2, x.data(), k, m, rows, n, k, fast.data(), n);
          dot_rows(Isa::kScalar, x.data(), k, m, rows, n, k, plain.data(), n);
          ASSERT_EQ(std::memcmp(fast.data(), plain.data(), fast.size() * sizeof(float)), 0)
              << m << "x" << n << "x" << k;
        }
      }
}

TEST(Dot, ARowsResultDoesNotDependOnTheOtherRows) {
  const std::size_t k = 2203, n = 5, m = 23;
  const auto x = noise(m * k, 3), w = noise(n * k, 4);
  std::vector<float> together(m * n), alone(n);
  dot_rows(best_isa(), x.data(), k, m, Rows{w.data(), false, k}, n, k, together.data(), n);
  for (std::size_t row = 0; row < m; ++row) {
    dot_rows(best_isa(), x.data() + row * k, k, 1, Rows{w.data(), false, k}, n, k, alone.data(), n);
    EXPECT_EQ(std::memcmp(alone.data(), together.data() + row * n, n * sizeof(float)), 0) << row;
  }
}

TEST(Dot, AgreesWithDoublePrecision) {
  const std::size_t k = 3072;
  const auto x = noise(k, 5), w = noise(k, 6);
  double want = 0;
  for (std::size_t i = 0; i < k; ++i) want += static_cast<double>(x[i]) * w[i];
  float got = 0;
  dot_rows(best_isa(), x.data(), k, 1, Rows{w.data(), false, k}, 1, k, &got, 1);
  EXPECT_NEAR(got, want, 1e-4);
}

TEST(WeightedRows, TheVectorCodeGivesTheBitsOfItsScalarTwin) {
  if (!has_avx2()) GTEST_SKIP() << "this CPU has no AVX2";
  for (const std::size_t d : {1u, 16u, 31u, 32u, 64u, 128u, 130u})
    for (const std::size_t m : {1u, 2u, 5u, 6u, 13u}) {
      const std::size_t t = 137;  // more than a block of rows
      const auto p = noise(m * t, 7), v = noise(t * d, 8);
      const auto v16 = rounded(v);
      for (const Rows rows : {Rows{v.data(), false, d}, Rows{v16.data(), true, d}}) {
        std::vector<float> fast(m * d), plain(m * d);
        weighted_rows(Isa::kAvx2, p.data(), t, m, t, rows, d, fast.data(), d);
        weighted_rows(Isa::kScalar, p.data(), t, m, t, rows, d, plain.data(), d);
        ASSERT_EQ(std::memcmp(fast.data(), plain.data(), fast.size() * sizeof(float)), 0) << m << "x" << d;
      }
    }
}

TEST(Convert, ScalingRoundsOnce) {
  std::vector<float> values = noise(1003, 11);
  values.push_back(std::numeric_limits<float>::quiet_NaN());
  std::vector<float> got = values;
  scale_and_round(best_isa(), got.data(), 0.37f, got.size());
  for (std::size_t i = 0; i + 1 < got.size(); ++i) ASSERT_EQ(got[i], round_bf16(values[i] * 0.37f));
  EXPECT_TRUE(std::isnan(got.back()));
}

TEST(Convert, NarrowingRoundsAsTheTensorModuleDoes) {
  std::vector<float> values = noise(4097, 9);
  const float inf = std::numeric_limits<float>::infinity();
  for (const std::uint32_t bits :
       {0x3f808000u, 0x3f818000u, 0x3f808001u, 0x7f7fffffu, 0x7fc00001u, 0x7f800001u, 0xff800001u, 1u})
    values.push_back(std::bit_cast<float>(bits));
  values.insert(values.end(), {inf, -inf, 0.0f, -0.0f});
  std::vector<BF16> narrowed(values.size());
  narrow(best_isa(), values.data(), narrowed.data(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(narrowed[i].bits, to_bf16(values[i]).bits) << values[i];
}

TEST(Convert, WideningIsExactForEveryPattern) {
  std::vector<BF16> all(1 << 16);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].bits = static_cast<std::uint16_t>(i);
  std::vector<float> wide(all.size());
  widen(best_isa(), all.data(), wide.data(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), static_cast<std::uint32_t>(i) << 16);
}

}  // namespace
}  // namespace calkit::exec
