// Products of int8: every instruction set gives the sums of the plain loop.
#include "exec/int8_dot.h"

#include <gtest/gtest.h>

#include <random>

#include "exec/quantize_rows.h"

namespace calkit::exec {
namespace {

std::vector<std::int8_t> drawn(std::size_t count, std::mt19937& random) {
  std::vector<std::int8_t> out(count);
  for (auto& value : out) value = static_cast<std::int8_t>(random() % 256);
  return out;
}

std::vector<std::int32_t> products(IntegerIsa isa, const std::vector<std::int8_t>& x, std::size_t m,
                                   const std::vector<std::int8_t>& w, std::size_t n, std::size_t k) {
  const Int8Rows rows(isa, x.data(), m, k);
  std::vector<std::int32_t> y(m * n, -1);
  dot_int8(rows, 0, m, w.data(), int8_sums(w.data(), n, k).data(), n, y.data(), n);
  return y;
}

TEST(Int8Dot, EveryInstructionSetGivesTheSumsOfTheLoop) {
  std::mt19937 random(3);
  for (const std::size_t k : {0, 1, 15, 16, 63, 64, 65, 300, 1024})
    for (const std::size_t m : {1, 2, 3, 4, 7, 9})
      for (const std::size_t n : {1, 3, 4, 5, 18}) {
        const auto x = drawn(m * k, random), w = drawn(n * k, random);
        std::vector<std::int32_t> want;
        for (std::size_t i = 0; i < m; ++i)
          for (std::size_t j = 0; j < n; ++j) {
            std::int64_t sum = 0;
            for (std::size_t at = 0; at < k; ++at) sum += x[i * k + at] * w[j * k + at];
            want.push_back(static_cast<std::int32_t>(sum));
          }
        for (const IntegerIsa isa : {IntegerIsa::kScalar, IntegerIsa::kAvx2, IntegerIsa::kVnni})
          EXPECT_EQ(products(std::min(isa, best_integer_isa()), x, m, w, n, k), want)
              << m << "x" << n << "x" << k << " isa " << int(isa);
      }
}

TEST(Int8Dot, TheLargestProductsDoNotSaturate) {
  constexpr std::size_t kInputs = 4096;
  const std::vector<std::int8_t> x(kInputs, -128), w(4 * kInputs, -128);
  for (const IntegerIsa isa : {IntegerIsa::kScalar, IntegerIsa::kAvx2, IntegerIsa::kVnni})
    EXPECT_EQ(products(std::min(isa, best_integer_isa()), x, 1, w, 4, kInputs),
              std::vector<std::int32_t>(4, kInputs * 128 * 128));
}

TEST(QuantizeRow, BothInstructionSetsGiveTheSameBits) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (const std::size_t count : {0, 1, 8, 13, 100}) {
    std::vector<float> x(count);
    for (float& value : x) value = normal(random);
    std::vector<std::int8_t> a(count), b(count);
    float of_a = 0, of_b = 0;
    ASSERT_TRUE(quantize_row(Isa::kScalar, x.data(), count, a.data(), of_a));
    ASSERT_TRUE(quantize_row(best_isa(), x.data(), count, b.data(), of_b));
    EXPECT_EQ(a, b);
    EXPECT_EQ(of_a, of_b);
  }
}

TEST(QuantizeRow, HalvesGoToTheEvenNumberAndTheLargestTo127) {
  const float x[] = {127, -127, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 3.5f, -2.5f, 0};
  std::int8_t q[10];
  float scale = 0;
  ASSERT_TRUE(quantize_row(best_isa(), x, 10, q, scale));
  EXPECT_EQ(scale, 1.0f);
  EXPECT_EQ(std::vector<std::int8_t>(q, q + 10), (std::vector<std::int8_t>{127, -127, 0, 2, 2, 0, -2, 4, -2, 0}));
}

TEST(QuantizeRow, ARowOfZerosHasTheSmallestScaleAndOneThatIsNotFiniteNone) {
  std::vector<float> x(9, 0.0f);
  std::vector<std::int8_t> q(9, 5);
  float scale = 0;
  ASSERT_TRUE(quantize_row(best_isa(), x.data(), 9, q.data(), scale));
  EXPECT_EQ(scale, 1e-30f);
  EXPECT_EQ(q, std::vector<std::int8_t>(9, 0));
  for (const std::size_t at : {2, 8})
    for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
      auto bad = x;
      bad[at] = wrong;
      EXPECT_FALSE(quantize_row(best_isa(), bad.data(), 9, q.data(), scale));
      EXPECT_FALSE(quantize_row(Isa::kScalar, bad.data(), 9, q.data(), scale));
    }
}

}  // namespace
}  // namespace calkit::exec
