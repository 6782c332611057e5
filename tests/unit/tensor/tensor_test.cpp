#include "calkit/tensor/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace calkit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Tensor, ZerosAreZeroAndAligned) {
  for (const std::int64_t n : {0, 1, 1000, 300000}) {
    const auto made = Tensor::zeros(DType::kF32, {n, 2});
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(made->raw()) % 64, 0u);
    for (const float v : made->data<float>()) ASSERT_EQ(v, 0.0f);
    EXPECT_EQ(made->bytes(), static_cast<std::size_t>(n) * 8);
  }
}

TEST(Tensor, ShapesThatNoMemoryHoldsAreErrors) {
  EXPECT_EQ(Tensor::zeros(DType::kF32, {2, -1}).error().kind, ErrorKind::kInput);
  EXPECT_EQ(Tensor::zeros(DType::kF32, {std::int64_t{1} << 32, std::int64_t{1} << 32}).error().kind, ErrorKind::kInput);
  EXPECT_EQ(Tensor::zeros(DType::kI8, {std::int64_t{1} << 62}).error().kind, ErrorKind::kIncomplete);
}

TEST(Tensor, CopiesShareTheirBytesAndReshapesToo) {
  Tensor a = Tensor::of<float>({2, 3}, {0, 1, 2, 3, 4, 5});
  Tensor b = a.reshaped({3, 2});
  b.mutable_data<float>()[5] = 9;
  EXPECT_EQ(a.data<float>()[5], 9.0f);
  EXPECT_THAT(b.shape(), ElementsAre(3, 2));
  EXPECT_EQ(b.dim(-1), 2);
  EXPECT_EQ(shape_text(a.shape()), "[2, 3]");
}

TEST(Tensor, AScalarHasOneElement) {
  const auto scalar = Tensor::zeros(DType::kI64, {});
  ASSERT_TRUE(scalar.ok());
  EXPECT_EQ(scalar->elements(), 1u);
  EXPECT_EQ(shape_text(scalar->shape()), "[]");
}

TEST(Convert, FloatsToIntegersTruncateAndNeverSaturate) {
  const Tensor x = Tensor::of<float>({4}, {1.9f, -1.9f, 127.5f, 0});
  const auto y = convert(x, DType::kI8);
  ASSERT_TRUE(y.ok());
  EXPECT_THAT(y->data<std::int8_t>(), ElementsAre(1, -1, 127, 0));
  const auto over = convert(Tensor::of<float>({2}, {0, 128}), DType::kI8);
  ASSERT_FALSE(over.ok());
  EXPECT_THAT(over.error().message, HasSubstr("element 1 is 128"));
  EXPECT_FALSE(convert(Tensor::of<float>({1}, {NAN}), DType::kI64).ok());
  EXPECT_FALSE(convert(Tensor::of<float>({1}, {-1}), DType::kU64).ok());
}

TEST(Convert, SixtyFourBitIntegersStayExact) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const Tensor x = Tensor::of<std::uint64_t>({2}, {most, (std::uint64_t{1} << 53) + 1});
  EXPECT_FALSE(convert(x, DType::kI64).ok());
  const auto same = convert(Tensor::of<std::int64_t>({1}, {(std::int64_t{1} << 53) + 1}), DType::kU64);
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->data<std::uint64_t>()[0], (std::uint64_t{1} << 53) + 1);
}

TEST(Convert, WideNumbersRoundOnceIntoBf16) {
  // 1 + 2^-8 + 2^-40 lies above the tie; going through f32 first would round it down to the even neighbour.
  const Tensor x = Tensor::of<double>({1}, {1.0 + 0x1p-8 + 0x1p-40});
  const auto y = convert(x, DType::kBF16);
  ASSERT_TRUE(y.ok());
  EXPECT_EQ(to_float(y->data<BF16>()[0]), 1.0f + 0x1p-7f);
}

TEST(Convert, Bf16WidensExactly) {
  const Tensor x = Tensor::of<BF16>({2}, {to_bf16(3.140625f), to_bf16(-65280.0f)});
  const auto floats = to_floats(x);
  ASSERT_TRUE(floats.ok());
  EXPECT_THAT(*floats, ElementsAre(3.140625f, -65280.0f));
}

}  // namespace
}  // namespace calkit
