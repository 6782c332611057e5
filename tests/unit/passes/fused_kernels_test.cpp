// The kernels of calkit.fused against the functions that say what the operators mean.
#include "fused_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "calkit/tensor/metrics.h"
#include "exec/fused_functions.h"

namespace calkit::fused {
namespace {

double nmse(const Tensor& want, const Tensor& got) {
  const auto a = *to_floats(want), b = *to_floats(got);
  double wrong = 0, all = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    wrong += std::pow(double(a[i]) - double(b[i]), 2);
    all += std::pow(double(a[i]), 2);
  }
  return wrong == 0 ? 0 : wrong / all;
}

class Kernels : public testing::TestWithParam<DType> {};

TEST_P(Kernels, GiveWhatTheirFunctionsGive) {
  const DType dtype = GetParam();
  for (const FusedCall& call : drawn_calls(dtype)) {
    SCOPED_TRACE(call.label);
    const auto want = run(call, true), got = run(call, false), again = run(call, false, 2);
    ASSERT_TRUE(want.ok()) << want.error().message;
    ASSERT_TRUE(got.ok()) << got.error().message;
    ASSERT_TRUE(again.ok()) << again.error().message;
    for (std::size_t i = 0; i < want->size(); ++i) {
      const Tensor &w = (*want)[i], &g = (*got)[i];
      ASSERT_EQ(g.dtype(), w.dtype());
      ASSERT_EQ(g.shape(), w.shape());
      EXPECT_EQ(std::memcmp(g.raw(), (*again)[i].raw(), g.bytes()), 0) << "two threads";
      if (call.exact)
        EXPECT_EQ(std::memcmp(g.raw(), w.raw(), g.bytes()), 0) << "output " << i << ", NMSE " << nmse(w, g);
      else
        EXPECT_LE(nmse(w, g), dtype == DType::kF32 ? 1e-12 : 1e-5) << "output " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Kernels, testing::Values(DType::kF32, DType::kBF16, DType::kF16),
                         [](const auto& type) { return std::string(dtype_name(type.param)); });

TEST(FusedFunctions, EachHasAKernelThatWasWrittenForIt) {
  const auto supported = exec::supported_operators();
  for (const auto& function : fusion::kernel_functions()) {
    const std::string name = std::string(fusion::kDomain) + ":" + function.name;
    if (!std::binary_search(supported.begin(), supported.end(), name)) continue;
    EXPECT_TRUE(exec::has_fused_kernel(function))
        << "{\"" << function.name << "\", \"" << exec::fused_digest(function) << "\"},";
  }
}

}  // namespace
}  // namespace calkit::fused
