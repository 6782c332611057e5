#include "exec/linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "exec/dnnl_shim.h"

namespace calkit::exec {
namespace {

Tensor noise(DType dtype, Shape shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Tensor wide = *Tensor::zeros(DType::kF32, std::move(shape));
  for (float& value : wide.mutable_data<float>()) value = normal(random);
  return *convert(wide, dtype);
}

std::vector<double> product(const Tensor& x, const Tensor& w) {
  const auto a = *to_floats(x), b = *to_floats(w);
  const auto m = static_cast<std::size_t>(x.dim(0)), n = static_cast<std::size_t>(w.dim(0)),
             k = static_cast<std::size_t>(w.dim(1));
  std::vector<double> out(m * n, 0.0);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t l = 0; l < k; ++l) out[i * n + j] += static_cast<double>(a[i * k + l]) * b[j * k + l];
  return out;
}

Tensor multiply(const Linear& linear, const Tensor& x) {
  Tensor y = *Tensor::zeros(x.dtype(), {x.dim(0), static_cast<std::int64_t>(linear.outputs())});
  EXPECT_TRUE(linear.multiply(x.raw(), static_cast<std::size_t>(x.dim(0)), y.mutable_raw()).ok());
  return y;
}

TEST(Linear, F32AgreesWithDoublePrecisionForFewAndManyRows) {
  const Tensor w = noise(DType::kF32, {130, 96}, 1);
  const auto linear = Linear::create(w, 1);
  ASSERT_TRUE(linear.ok());
  for (const std::int64_t m : {1, 3, 8, 9, 33, 600}) {
    const Tensor x = noise(DType::kF32, {m, 96}, 2);
    const auto got = *to_floats(multiply(**linear, x));
    const auto want = product(x, w);
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 2e-5) << m << " rows";
  }
}

TEST(Linear, Bf16IsOneRoundingOfAnF32Sum) {
  const Tensor w = noise(DType::kBF16, {70, 200}, 3);
  const auto linear = Linear::create(w, 1);
  ASSERT_TRUE(linear.ok());
  for (const std::int64_t m : {1, 4, 8, 9, 20}) {
    const Tensor x = noise(DType::kBF16, {m, 200}, 4);
    const auto got = *to_floats(multiply(**linear, x));
    const auto want = product(x, w);
    // Half a unit of BF16 (2^-9 of the value) plus the F32 sum's own error.
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], want[i], std::fabs(want[i]) / 256 + 1e-4) << m << " rows";
  }
}

TEST(Linear, ARowsResultDoesNotDependOnTheOtherRows) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    if (dnnl_packs(dtype)) continue;
    const auto linear = Linear::create(noise(dtype, {130, 96}, 1), 1);
    ASSERT_TRUE(linear.ok());
    const Tensor x = noise(dtype, {530, 96}, 2);
    const Tensor all = multiply(**linear, x);
    for (const std::size_t row : {0u, 7u, 511u, 512u, 529u}) {
      const std::size_t in = 96 * dtype_bytes(dtype), out = 130 * dtype_bytes(dtype);
      const Tensor alone = multiply(**linear, Tensor::borrow(dtype, {1, 96}, x.raw() + row * in, nullptr));
      EXPECT_EQ(std::memcmp(alone.raw(), all.raw() + row * out, out), 0) << row;
    }
  }
}

TEST(Linear, ABiasIsAddedBeforeTheOneRounding) {
  std::vector<float> bias(70);
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i) - 35;
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const Tensor w = noise(dtype, {70, 96}, 21), x = noise(dtype, {5, 96}, 22);
    const auto linear = Linear::create(w, 1);
    ASSERT_TRUE(linear.ok());
    Tensor y = *Tensor::zeros(dtype, {5, 70});
    ASSERT_TRUE((*linear)->multiply(x.raw(), 5, y.mutable_raw(), bias.data()).ok());
    const auto got = *to_floats(y);
    const auto want = product(x, w);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double sum = want[i] + bias[i % 70];
      ASSERT_NEAR(got[i], sum, 1e-4 + (dtype == DType::kBF16 ? std::fabs(sum) / 256 : 0));
    }
  }
}

TEST(Linear, WeightsLargerThanTheScratchAreWidenedInBlocks) {
  const Tensor w = noise(DType::kBF16, {700, 2048}, 5);  // 5.6 MB of F32, more than one block
  const auto linear = Linear::create(w, 1);
  ASSERT_TRUE(linear.ok());
  const Tensor x = noise(DType::kBF16, {9, 2048}, 6);
  const auto got = *to_floats(multiply(**linear, x));
  const auto want = product(x, w);
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], std::fabs(want[i]) / 256 + 1e-3);
}

TEST(Linear, ThreadsDoNotChangeTheBits) {
  const Tensor w = noise(DType::kBF16, {4096, 1024}, 7);
  const auto one = Linear::create(w, 1), two = Linear::create(w, 2);
  ASSERT_TRUE(one.ok() && two.ok());
  const Tensor x = noise(DType::kBF16, {2, 1024}, 8);
  const Tensor a = multiply(**one, x), b = multiply(**two, x);
  EXPECT_EQ(std::memcmp(a.raw(), b.raw(), a.bytes()), 0);
}

// The packed path is taken only where the library has a layout of its own; the code runs everywhere.
TEST(PackedWeights, AgreeWithDoublePrecisionForAnyNumberOfRows) {
  const Tensor w = noise(DType::kF32, {130, 96}, 10);
  const auto packed = PackedWeights::pack(DType::kF32, w.raw(), 130, 96, 1);
  ASSERT_TRUE(packed.ok()) << packed.error().message;
  EXPECT_GE((*packed)->bytes(), w.bytes());
  for (const std::int64_t m : {1, 5, 64, 1}) {
    const Tensor x = noise(DType::kF32, {m, 96}, 11);
    std::vector<float> got(static_cast<std::size_t>(m) * 130);
    ASSERT_TRUE((*packed)->multiply(x.raw(), static_cast<std::size_t>(m), got.data()).ok());
    const auto want = product(x, w);
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 2e-5) << m << " rows";
  }
}

TEST(PackedWeights, Bf16WorksOrIsAnErrorAndNeverThrows) {
  const Tensor w = noise(DType::kBF16, {64, 96}, 12);
  const auto packed = PackedWeights::pack(DType::kBF16, w.raw(), 64, 96, 1);
  if (!packed.ok()) {
    EXPECT_FALSE(dnnl_packs(DType::kBF16));
    EXPECT_EQ(packed.error().kind, ErrorKind::kInternal);
    return;
  }
  const Tensor x = noise(DType::kBF16, {3, 96}, 13);
  std::vector<float> got(3 * 64);
  ASSERT_TRUE((*packed)->multiply(x.raw(), 3, got.data()).ok());
  const auto want = product(x, w);
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-3);
}

TEST(LinearCache, TheSameBytesAreOneObjectWhileInUse) {
  LinearCache cache;
  const Tensor w = noise(DType::kF32, {8, 8}, 9), other = noise(DType::kF32, {8, 8}, 9);
  const auto first = cache.get(w, 1), again = cache.get(w, 1), third = cache.get(other, 1);
  ASSERT_TRUE(first.ok() && again.ok() && third.ok());
  EXPECT_EQ(first->get(), again->get());
  EXPECT_NE(first->get(), third->get());
}

}  // namespace
}  // namespace calkit::exec
