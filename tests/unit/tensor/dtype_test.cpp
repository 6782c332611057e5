#include "calkit/tensor/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "calkit/tensor/npz.h"

namespace calkit {
namespace {

std::map<std::string, Tensor> rounding() {
  auto read = read_npz(CALKIT_TEST_DATA "/npz/rounding.npz");
  EXPECT_TRUE(read.ok()) << read.error().message;
  return std::move(read).value();
}

TEST(DType, NamesAndSizesReadBack) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8, DType::kU8, DType::kI16,
                            DType::kU16, DType::kI32, DType::kU32, DType::kI64, DType::kU64, DType::kBool}) {
    EXPECT_EQ(dtype_from_name(dtype_name(dtype)), dtype);
    EXPECT_EQ(dtype_from_safetensors(safetensors_name(dtype)), dtype);
  }
  EXPECT_EQ(dtype_bytes(DType::kBF16), 2u);
  EXPECT_EQ(safetensors_name(DType::kBool), "BOOL");
  EXPECT_EQ(dtype_from_safetensors("F8_E4M3"), std::nullopt);
}

TEST(DType, Bf16RoundsAsTheReferenceDoes) {
  const auto data = rounding();
  const auto x = data.at("x").data<float>();
  const auto want = data.at("bf16_bits").data<std::uint16_t>();
  ASSERT_GT(x.size(), 4000u);
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(to_bf16(x[i]).bits, want[i]) << x[i];
}

TEST(DType, F16RoundsAsNumpyDoes) {
  const auto data = rounding();
  const auto x = data.at("x").data<float>();
  const auto want = data.at("f16_bits").data<std::uint16_t>();
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(float_to_f16(x[i]), want[i]) << x[i];
}

TEST(DType, EveryF16SurvivesTheWayThroughF32) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float wide = f16_to_float(static_cast<std::uint16_t>(bits));
    if (std::isnan(wide))
      EXPECT_TRUE(std::isnan(f16_to_float(float_to_f16(wide))));
    else
      EXPECT_EQ(float_to_f16(wide), bits);
  }
}

TEST(DType, NanStaysNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(round_bf16(nan)));
  EXPECT_TRUE(std::isnan(to_float(to_bf16(std::bit_cast<float>(0x7f800001u)))));
}

}  // namespace
}  // namespace calkit
