#include "exec/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace calkit::exec {
namespace {

std::vector<float> ramp(float from, float to, std::size_t count) {
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i)
    out[i] = from + (to - from) * static_cast<float>(i) / static_cast<float>(count - 1);
  return out;
}

std::vector<float> silu(Isa isa, const std::vector<float>& x) {
  const std::vector<float> ones(x.size(), 1.0f);
  std::vector<float> y(x.size());
  swiglu(isa, x.data(), ones.data(), y.data(), x.size());
  return y;
}

TEST(Activation, SiluAgreesWithDoublePrecision) {
  const auto x = ramp(-30, 30, 10007);
  const auto got = silu(best_isa(), x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double want = x[i] / (1 + std::exp(-static_cast<double>(x[i])));
    ASSERT_NEAR(got[i], want, 4e-7 * std::fabs(want) + 1e-30) << x[i];
  }
}

TEST(Activation, SiluOfExtremesIsItsLimitAndNanStays) {
  const float far = 3e38f, nan = std::numeric_limits<float>::quiet_NaN();
  for (const Isa isa : {Isa::kScalar, best_isa()}) {
    const auto y = silu(isa, {far, -far, 0.0f, -200.0f, 200.0f, nan, 1.0f, -1.0f, nan});
    EXPECT_EQ(y[0], far);
    EXPECT_NEAR(y[1], 0.0f, 1.5f);  // exp is held at its largest value
    EXPECT_EQ(y[2], 0.0f);
    EXPECT_NEAR(y[3], 0.0f, 1e-30f);
    EXPECT_EQ(y[4], 200.0f);
    EXPECT_TRUE(std::isnan(y[5]));
    EXPECT_TRUE(std::isnan(y[8]));
  }
}

TEST(Activation, VectorAndScalarCodeGiveTheSameBits) {
  const auto x = ramp(-95, 95, 4099), up = ramp(3, -3, 4099);
  std::vector<float> a(x.size()), b(x.size());
  swiglu(Isa::kScalar, x.data(), up.data(), a.data(), x.size());
  swiglu(best_isa(), x.data(), up.data(), b.data(), x.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
  std::vector<BF16> gate(x.size()), other(x.size()), c(x.size()), d(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) gate[i] = to_bf16(x[i]), other[i] = to_bf16(up[i]);
  swiglu(Isa::kScalar, gate.data(), other.data(), c.data(), x.size());
  swiglu(best_isa(), gate.data(), other.data(), d.data(), x.size());
  EXPECT_EQ(std::memcmp(c.data(), d.data(), c.size() * sizeof(BF16)), 0);
  for (std::size_t count : {1u, 7u, 8u, 9u, 64u, 1001u}) {
    std::vector<float> e(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(count)), f = e;
    softmax(Isa::kScalar, e.data(), count);
    softmax(best_isa(), f.data(), count);
    EXPECT_EQ(std::memcmp(e.data(), f.data(), count * sizeof(float)), 0) << count;
  }
}

TEST(Activation, Bf16SwigluRoundsSiluAndThenTheProduct) {
  const std::vector<BF16> gate = {to_bf16(1.5f)}, up = {to_bf16(0.7f)};
  std::vector<BF16> y(1);
  swiglu(best_isa(), gate.data(), up.data(), y.data(), 1);
  const float silu = round_bf16(1.5f / (1.0f + std::exp(-1.5f)));
  EXPECT_EQ(to_float(y[0]), round_bf16(silu * to_float(up[0])));
}

TEST(Activation, SoftmaxSumsToOneAndAMaskedRowIsZero) {
  auto x = ramp(-20, 20, 333);
  softmax(best_isa(), x.data(), x.size());
  double sum = 0;
  for (const float value : x) sum += value;
  EXPECT_NEAR(sum, 1.0, 1e-6);
  std::vector<float> masked(11, -std::numeric_limits<float>::infinity());
  softmax(best_isa(), masked.data(), masked.size());
  for (const float value : masked) EXPECT_EQ(value, 0.0f);
}

}  // namespace
}  // namespace calkit::exec
