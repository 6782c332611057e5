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

// Large enough for each kernel that splits its work to do so.
std::vector<FusedCall> large_calls() {
  Draw draw(DType::kF32);
  const auto to = onnx::attr("to", std::int64_t{1});
  const std::set<std::string> constants = {"w", "w_scale", "weight", "stack"};
  const Tensor rows = draw.floats({160, 1024}), keys = draw.floats({2, 2, 160, 64});
  std::vector<FusedCall> out = {{"", "QuantizePerToken", {rows}, {}, {}},
                                {"", "RmsNormQuantize", {rows, draw.floats({1024})}, constants, {}},
                                {"", "SwiGluQuantize", {rows, draw.floats({160, 1024})}, {}, {}},
                                {"", "Linear", {draw.floats({64, 512}), draw.floats({700, 512})}, constants, {}},
                                {"",
                                 "FlashAttention",
                                 {draw.floats({2, 4, 160, 64}), keys, keys},
                                 {},
                                 {onnx::attr("is_causal", std::int64_t{1})}}};
  const std::vector<Tensor> quantized = {draw.bytes({70, 512}), draw.scales({70, 1}), draw.bytes({1003, 512}),
                                         draw.scales({1003})};
  out.push_back({"", "QuantizedLinear", quantized, constants, {to}});
  out.push_back({"", "QuantizedLinearTopK", quantized, constants, {to, onnx::attr("k", Shape{8})}});
  out.push_back(
      {"", "LinearTopK", {draw.floats({64, 512}), draw.floats({700, 512})}, constants, {onnx::attr("k", Shape{3})}});
  return out;
}

TEST(FusedThreads, DoNotChangeABit) {
  for (const FusedCall& call : large_calls()) {
    SCOPED_TRACE(call.op);
    const auto one = run(call, false, 1);
    ASSERT_TRUE(one.ok()) << one.error().message;
    for (const int threads : {2, 3}) {
      const auto more = run(call, false, threads);
      ASSERT_TRUE(more.ok()) << more.error().message;
      for (std::size_t i = 0; i < one->size(); ++i)
        EXPECT_EQ(std::memcmp((*one)[i].raw(), (*more)[i].raw(), (*one)[i].bytes()), 0) << threads << " threads";
    }
  }
}

TEST(FusedTopK, EqualLogitsGoToTheLowerTokenAcrossBlocks) {
  constexpr std::int64_t kTokens = 16384 + 100;  // more than one block of a head
  std::vector<float> rows(kTokens * 2, 1.0f);
  rows[2 * (kTokens - 1)] = 3.0f;
  const FusedCall call{"",
                       "LinearTopK",
                       {Tensor::of<float>({1, 2}, {1, 1}), Tensor::of<float>({kTokens, 2}, rows)},
                       {"w"},
                       {onnx::attr("k", Shape{3})}};
  const auto got = run(call, false);
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_THAT((*got)[0].data<float>(), testing::ElementsAre(4, 2, 2));
  EXPECT_THAT((*got)[1].data<std::int64_t>(), testing::ElementsAre(kTokens - 1, 0, 1));
}

// Nothing to compute is no reason to fail; where function and kernel both answer, the shapes are the same.
TEST(FusedEmpty, NoRowsAndNoInputsAreAnswered) {
  Draw draw(DType::kF32);
  const auto to = onnx::attr("to", std::int64_t{1}), k = onnx::attr("k", Shape{2});
  const std::set<std::string> constants = {"w", "w_scale", "weight", "stack"};
  const Tensor none = draw.floats({0, 8}), table = draw.floats({1, 0, 4}), chosen = draw.choices(0, 2, 4);
  const Tensor w = draw.floats({5, 8}), bytes = draw.bytes({5, 8}), scales = draw.scales({5});
  const std::vector<FusedCall> calls = {
      {"", "RmsNorm", {none, draw.floats({8})}, constants, {}},
      {"", "RmsNormQuantize", {none, draw.floats({8})}, constants, {}},
      {"", "QuantizePerToken", {none}, {}, {}},
      {"", "QuantizePerToken", {draw.floats({3, 0})}, {}, {}},
      {"", "SwiGlu", {none, none}, {}, {}},
      {"", "SwiGluQuantize", {none, none}, {}, {}},
      {"", "Linear", {none, w}, constants, {}},
      {"", "Linear", {draw.floats({2, 0}), draw.floats({5, 0})}, constants, {}},
      {"", "LinearAdd", {none, w, draw.floats({5})}, constants, {}},
      {"", "QuantizedLinear", {draw.bytes({0, 8}), draw.scales({0, 1}), bytes, scales}, constants, {to}},
      {"", "QuantizedLinear", {draw.bytes({2, 0}), draw.scales({2, 1}), draw.bytes({5, 0}), scales}, constants, {to}},
      {"", "FlashAttention", {draw.floats({1, 2, 0, 8}), draw.floats({1, 2, 3, 8}), draw.floats({1, 2, 3, 8})}, {}, {}},
      {"",
       "RopeScatter",
       {draw.floats({1, 0, 2, 8}), draw.floats({1, 0, 2, 8}), draw.floats({1, 0, 2, 8}), table, table},
       {},
       {}},
      {"", "Dispatch", {draw.floats({1, 0, 8})}, {}, {}},
      {"", "RouterTopK", {draw.floats({0, 4})}, {}, {k, to}},
      {"", "GroupedDense", {draw.floats({4, 5, 8}), chosen, draw.floats({0, 1, 8, 1})}, constants, {}},
      {"", "CombineAdd", {draw.floats({0, 2, 8, 1}), draw.floats({0, 2}), draw.floats({1, 0, 8})}, {}, {}},
      {"", "LinearTopK", {none, w}, constants, {k}},
      {"", "LinearTopK", {draw.floats({2, 8}), w}, constants, {onnx::attr("k", Shape{0})}},
      {"", "QuantizedLinearTopK", {draw.bytes({0, 8}), draw.scales({0, 1}), bytes, scales}, constants, {to, k}}};
  for (const FusedCall& call : calls) {
    SCOPED_TRACE(call.op);
    const auto kernel = run(call, false), function = run(call, true);
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    for (std::size_t i = 0; function.ok() && i < kernel->size(); ++i)
      EXPECT_EQ((*kernel)[i].shape(), (*function)[i].shape());
  }
}

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
