// The kernels of calkit.fused against the functions that say what the operators mean.
#include "fused_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "calkit/onnx/io.h"
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
      if (call.exact) {
        EXPECT_EQ(std::memcmp(g.raw(), w.raw(), g.bytes()), 0) << "output " << i << ", NMSE " << nmse(w, g);
      } else if (g.dtype() != DType::kI64) {
        EXPECT_LE(nmse(w, g), dtype == DType::kF32 ? 1e-12 : 1e-5) << "output " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Kernels, testing::Values(DType::kF32, DType::kBF16, DType::kF16),
                         [](const auto& type) { return std::string(dtype_name(type.param)); });

TEST(FusedFunctions, EachHasAKernelThatWasWrittenForIt) {
  const auto supported = exec::supported_operators();
  for (const auto& function : fusion::kernel_functions()) {
    EXPECT_THAT(supported, testing::Contains(std::string(fusion::kDomain) + ":" + function.name));
    EXPECT_TRUE(exec::has_fused_kernel(function))
        << "{\"" << function.name << "\", \"" << exec::fused_digest(function) << "\"},";
  }
}

FusedCall norm_call() {
  Draw draw(DType::kF32);
  return {"", "RmsNorm", {draw.floats({2, 16}), draw.floats({16})}, {"weight"}, {onnx::attr("epsilon", 1e-6f)}};
}

std::vector<std::string> operators_of(const onnx::Model& model) {
  const auto session = exec::Session::create(model);
  EXPECT_TRUE(session.ok()) << session.error().message;
  std::vector<std::string> out;
  for (const auto& node : session->model().graph.nodes) out.push_back(node.op_type);
  return out;
}

TEST(FusedFunctions, AFunctionOfThatNameWithAnotherBodyRunsAsItsBody) {
  const onnx::Model model = model_of(norm_call());
  EXPECT_THAT(operators_of(model), testing::ElementsAre("RmsNorm"));
  const auto with = [&](auto change) {
    onnx::Model other = model;
    change(other.functions.front());
    return operators_of(other);
  };
  const auto body = testing::ElementsAre("RMSNormalization");
  EXPECT_THAT(with([](auto& f) { f.nodes[0].attributes[0].i = 1; }), body) << "an attribute";
  EXPECT_THAT(with([](auto& f) { f.nodes[0].attributes.pop_back(); }), body) << "an attribute less";
  EXPECT_THAT(with([](auto& f) { f.attribute_names.emplace_back("bias"); }), body) << "the signature";
  EXPECT_THAT(with([](auto& f) { std::swap(f.nodes[0].inputs[0], f.nodes[0].inputs[1]); }), body) << "the operands";
  EXPECT_THAT(with([](auto& f) { f.opsets[""] = 24; }), body) << "another opset";
  EXPECT_THAT(with([](auto& f) { f.nodes[0].name = "renamed"; }), testing::ElementsAre("RmsNorm")) << "only a name";
}

TEST(FusedFunctions, ACallWithoutItsFunctionIsTheKernel) {
  onnx::Model model = model_of(norm_call());
  model.functions.clear();
  EXPECT_THAT(operators_of(model), testing::ElementsAre("RmsNorm"));
}

TEST(FusedFunctions, AFileKeepsThem) {
  const onnx::Model model = model_of(norm_call());
  const auto dir = std::filesystem::temp_directory_path() / "calkit_fused_functions_test";
  std::filesystem::create_directories(dir);
  ASSERT_TRUE(onnx::save(model, dir / "model.onnx", {}).ok());
  const auto loaded = onnx::load(dir / "model.onnx");
  ASSERT_TRUE(loaded.ok());
  EXPECT_THAT(operators_of(*loaded), testing::ElementsAre("RmsNorm"));
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace calkit::fused
