#include "calkit/exec/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace calkit::exec {
namespace {

using onnx::attr;
using onnx::Dim;
using testing::HasSubstr;

onnx::Node node(std::string type, std::vector<std::string> inputs, std::vector<std::string> outputs,
                std::vector<onnx::Attribute> attributes = {}) {
  onnx::Node out;
  out.name = "n_" + outputs.front();
  out.op_type = std::move(type);
  out.inputs = std::move(inputs);
  out.outputs = std::move(outputs);
  out.attributes = std::move(attributes);
  return out;
}

onnx::Initializer initializer(std::string name, Tensor data) {
  onnx::Initializer out;
  out.name = std::move(name);
  out.type = onnx::from_dtype(data.dtype());
  out.dims = data.shape();
  out.bytes = data.bytes();
  out.data = std::move(data);
  return out;
}

// y = relabelled(x) * w^T + 1 with x [B, 3] and w [2, 3].
onnx::Model small_model() {
  onnx::Model model;
  model.opsets[""] = 23;
  auto& graph = model.graph;
  graph.inputs = {{"x", onnx::from_dtype(DType::kF32), {{Dim::symbol("B"), Dim::of(3)}}},
                  {"z", onnx::from_dtype(DType::kF32), {{Dim::symbol("B")}}}};
  graph.outputs = {{"y", onnx::from_dtype(DType::kF32), {}}};
  graph.initializers.push_back(initializer("w", Tensor::of<float>({2, 3}, {1, 0, 0, 0, 1, 1})));
  graph.initializers.push_back(initializer("one", Tensor::of<float>({}, {1})));
  graph.nodes.push_back(node("Transpose", {"w"}, {"wt"}, {attr("perm", std::vector<std::int64_t>{1, 0})}));
  graph.nodes.push_back(node("Identity", {"x"}, {"same"}));
  graph.nodes.push_back(node("MatMul", {"same", "wt"}, {"product"}));
  graph.nodes.push_back(node("Add", {"product", "one"}, {"y"}));
  return model;
}

Tensor rows() {
  return Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
}

std::string error_of(onnx::Model model) {
  auto session = Session::create(std::move(model));
  return session.ok() ? "no error" : session.error().message;
}

TEST(Session, RunsAGraphAndReturnsProbesByName) {
  auto session = Session::create(small_model());
  ASSERT_TRUE(session.ok()) << session.error().message;
  const std::string wanted[] = {"product", "y"};
  const auto results = session->run({{"x", rows()}}, wanted);
  ASSERT_TRUE(results.ok()) << results.error().message;
  EXPECT_THAT((*results)[0].data<float>(), testing::ElementsAre(1, 5, 4, 11));
  EXPECT_THAT((*results)[1].data<float>(), testing::ElementsAre(2, 6, 5, 12));
}

TEST(Session, AWeightsTransposeIsNeverMade) {
  auto session = Session::create(small_model());
  ASSERT_TRUE(session.ok());
  for (const auto& made : session->model().graph.nodes) EXPECT_NE(made.op_type, "Transpose");
}

TEST(Session, ConstantsAreComputedOnce) {
  onnx::Model model = small_model();
  model.graph.nodes.insert(model.graph.nodes.begin(), node("Neg", {"one"}, {"minus"}));
  auto session = Session::create(std::move(model));
  ASSERT_TRUE(session.ok());
  const std::string wanted[] = {"minus"};
  const auto results = session->run({}, wanted);  // no inputs are needed for a constant
  ASSERT_TRUE(results.ok()) << results.error().message;
  EXPECT_EQ((*results)[0].data<float>()[0], -1.0f);
}

TEST(Session, AResultThatIsLargeIsNotFolded) {
  onnx::Model model = small_model();
  model.graph.initializers.push_back(initializer("large", Tensor::of<std::int64_t>({2}, {1 << 20, 1 << 20})));
  model.graph.nodes.push_back(node("ConstantOfShape", {"large"}, {"filled"}));
  EXPECT_EQ(error_of(std::move(model)), "no error");  // 4 TiB, and nobody asked for it
}

TEST(Session, MessagesNameTheNodeAndTheOperand) {
  onnx::Model unknown = small_model();
  unknown.graph.nodes.push_back(node("Unique", {"y"}, {"m"}));
  EXPECT_THAT(error_of(std::move(unknown)),
              testing::AllOf(HasSubstr("operator Unique (domain ai.onnx)"), HasSubstr("n_m")));

  onnx::Model attribute = small_model();
  attribute.graph.nodes[2].attributes.push_back(attr("left_window", std::int64_t{4}));
  EXPECT_THAT(error_of(std::move(attribute)), testing::AllOf(HasSubstr("'n_product'"), HasSubstr("'left_window'")));

  onnx::Model order = small_model();
  std::swap(order.graph.nodes[2], order.graph.nodes[3]);
  EXPECT_THAT(error_of(std::move(order)), testing::AllOf(HasSubstr("'n_y'"), HasSubstr("'product'")));

  onnx::Model old = small_model();
  old.opsets[""] = 6;
  EXPECT_THAT(error_of(std::move(old)), HasSubstr("found ai.onnx version 6; allowed: 7 to 28"));

  onnx::Model twice = small_model();
  twice.graph.nodes.push_back(node("Neg", {"x"}, {"y"}));
  EXPECT_THAT(error_of(std::move(twice)), HasSubstr("'y' a second time"));
}

TEST(Session, InputsAreCheckedBeforeAnythingRuns) {
  auto session = Session::create(small_model());
  ASSERT_TRUE(session.ok());
  const std::string wanted[] = {"y"};
  const auto message = [&](std::map<std::string, Tensor> inputs) {
    const auto results = session->run(inputs, wanted);
    return results.ok() ? std::string("no error") : results.error().message;
  };
  EXPECT_THAT(message({}), HasSubstr("input 'x': found nothing"));
  EXPECT_THAT(message({{"xx", rows()}}), HasSubstr("input 'xx'"));
  EXPECT_THAT(message({{"x", Tensor::of<std::int64_t>({1, 3}, {1, 2, 3})}}), HasSubstr("allowed: FLOAT"));
  EXPECT_THAT(message({{"x", Tensor::of<float>({3}, {1, 2, 3})}}), HasSubstr("rank 2"));
  EXPECT_THAT(message({{"x", Tensor::of<float>({1, 2}, {1, 2})}}), HasSubstr("3 (3) at axis 1"));
  EXPECT_THAT(message({{"x", rows()}, {"z", Tensor::of<float>({3}, {1, 2, 3})}}), HasSubstr("2 (B) at axis 0"));
  const std::string absent[] = {"yy"};
  const auto results = session->run({{"x", rows()}}, absent);
  ASSERT_FALSE(results.ok());
  EXPECT_THAT(results.error().message, HasSubstr("no value 'yy'"));
}

TEST(Session, AnOperatorThatFailsSaysWhereAndWhy) {
  onnx::Model model = small_model();
  model.graph.nodes[3] = node("Add", {"product", "z"}, {"y"});
  auto session = Session::create(std::move(model));
  ASSERT_TRUE(session.ok());
  const std::string wanted[] = {"y"};
  const Tensor x = Tensor::of<float>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const auto results = session->run({{"x", x}, {"z", Tensor::of<float>({3}, {1, 2, 3})}}, wanted);
  ASSERT_FALSE(results.ok());
  EXPECT_EQ(results.error().kind, ErrorKind::kInput);
  EXPECT_THAT(results.error().message, testing::AllOf(HasSubstr("Add 'n_y': input 1 ('z')"), HasSubstr("[3]")));
}

TEST(Kernels, EveryOperatorHasAName) {
  const auto operators = supported_operators();
  EXPECT_THAT(operators, testing::IsSupersetOf(
                             {"ai.onnx:Attention", "ai.onnx:MatMul", "calkit:CacheAttention", "calkit:MatMulNT"}));
  EXPECT_TRUE(std::is_sorted(operators.begin(), operators.end()));
  EXPECT_THAT(dispatch_name(), testing::AnyOf("scalar", "avx2", "avx512", "avx512_bf16"));
}

}  // namespace
}  // namespace calkit::exec
