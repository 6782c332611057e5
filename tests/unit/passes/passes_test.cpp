// Each pass on graphs of other exporters and on graphs made by hand; and a proof that fails when a graph changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "calkit/base/document.h"
#include "calkit/base/files.h"
#include "calkit/base/hash.h"
#include "calkit/model/graph.h"
#include "calkit/onnx/io.h"
#include "calkit/passes/normalize.h"
#include "passes/feeds.h"
#include "passes/prove.h"

namespace calkit::passes {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

fs::path data(const std::string& relative) {
  return fs::path(CALKIT_TEST_DATA) / relative;
}

onnx::Model load(const fs::path& path) {
  auto out = onnx::load(path);
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().message);
  return out.ok() ? std::move(*out) : onnx::Model{};
}

onnx::Node node(std::string op, std::vector<std::string> inputs, std::string output) {
  onnx::Node out;
  out.op_type = std::move(op);
  out.inputs = std::move(inputs);
  out.outputs = {std::move(output)};
  return out;
}
onnx::Initializer constant(std::string name, Tensor value) {
  onnx::Initializer out;
  out.name = std::move(name);
  out.type = onnx::from_dtype(value.dtype());
  out.dims = value.shape();
  out.bytes = value.bytes();
  out.data = std::move(value);
  return out;
}
/// y = x + (a * b), and a branch that nobody needs.
onnx::Model small() {
  onnx::Model out;
  out.ir_version = 8;
  out.opsets[""] = 17;
  out.graph.name = "small";
  out.graph.inputs = {{"x", 1, {{onnx::Dim::symbol("N")}}}};
  out.graph.outputs = {{"y", 1, {{onnx::Dim::symbol("N")}}}};
  out.graph.initializers = {constant("a", Tensor::of<float>({1}, {2})), constant("b", Tensor::of<float>({1}, {3})),
                            constant("twin", Tensor::of<float>({1}, {3})),
                            constant("idle", Tensor::of<float>({1}, {9}))};
  out.graph.nodes = {node("Mul", {"a", "twin"}, "six"), node("Sub", {"x", "b"}, "unread"),
                     node("Add", {"x", "six"}, "y")};
  return out;
}
std::vector<std::string> ops(const onnx::Model& model) {
  std::vector<std::string> out;
  for (const auto& each : model.graph.nodes) out.push_back(each.op_type);
  return out;
}

class PassesTest : public testing::Test {
 protected:
  PassesTest() : folder_(fs::path(testing::TempDir()) / ("passes_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~PassesTest() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST(Passes, FoldTakesWhatIsConstant) {
  const auto out = fold_constants(small());
  ASSERT_TRUE(out.ok());
  EXPECT_THAT(ops(out->model), ElementsAre("Sub", "Add"));
  ASSERT_NE(out->model.graph.initializer("six"), nullptr);
  EXPECT_EQ(out->model.graph.initializer("six")->data->data<float>()[0], 6.0f);
}

TEST(Passes, FoldLeavesWhatACallerMayReplace) {
  onnx::Model model = small();
  model.graph.inputs.push_back({"a", 1, {{onnx::Dim::of(1)}}});
  const auto out = fold_constants(std::move(model));
  ASSERT_TRUE(out.ok());
  EXPECT_THAT(out->changes, testing::IsEmpty());
}

TEST(Passes, FoldLeavesFunctionsThatAreNamedAsKernels) {
  onnx::Model model = small();
  model.opsets = {{"", 23}, {"calkit.fused", 1}};
  model.functions = {{"calkit.fused", "SwiGlu", {"a", "b"}, {"y"}, {}, {}, {node("Mul", {"a", "b"}, "y")}, {{"", 23}}}};
  model.graph.nodes[0].domain = "calkit.fused";
  model.graph.nodes[0].op_type = "SwiGlu";
  const auto out = fold_constants(std::move(model));
  EXPECT_THAT(ops(out->model), ElementsAre("SwiGlu", "Sub", "Add"));
}

TEST(Passes, DeadCodeGoes) {
  const Outcome out = remove_dead_code(small());
  EXPECT_THAT(ops(out.model), ElementsAre("Mul", "Add"));
  EXPECT_EQ(out.model.graph.initializer("idle"), nullptr);
  EXPECT_EQ(out.model.graph.initializer("b"), nullptr);
  EXPECT_NE(out.model.graph.initializer("twin"), nullptr);
}

TEST(Passes, SameConstantsBecomeOne) {
  const Outcome out = merge_constants(small());
  EXPECT_EQ(out.model.graph.initializer("twin"), nullptr);
  EXPECT_THAT(out.model.graph.nodes[0].inputs, ElementsAre("a", "b"));
}

TEST(Passes, NodesThatChangeNothingGo) {
  onnx::Model model = small();
  onnx::Node cast = node("Cast", {"x"}, "same");
  cast.attributes = {onnx::attr("to", std::int64_t{1})};
  onnx::Node other = node("Cast", {"same"}, "wide");
  other.attributes = {onnx::attr("to", std::int64_t{11})};
  onnx::Node back = node("Cast", {"wide"}, "z");
  back.attributes = {onnx::attr("to", std::int64_t{1})};
  model.graph.nodes.insert(model.graph.nodes.begin(), {cast, other, node("Identity", {"same"}, "again"), back});
  model.graph.nodes.push_back(node("Identity", {"again"}, "out"));
  model.graph.outputs.push_back({"out", 1, model.graph.outputs[0].shape});
  const Outcome done = remove_idle_nodes(model);
  ASSERT_EQ(done.changes.size(), 1u);
  EXPECT_EQ(done.changes[0].count, 2u) << "the cast to the same type and the identity behind it";
  EXPECT_EQ(done.model.graph.nodes.back().inputs[0], "x");
  EXPECT_EQ(done.model.graph.nodes.front().inputs[0], "x") << "the cast to another type stays";
  EXPECT_TRUE(remove_idle_nodes(done.model).changes.empty());
}

TEST(Passes, WhatAnInnerGraphReadsStays) {
  const onnx::Model model = load(data("cases/onnx-inventory/O02/subgraphs.onnx"));
  std::set<std::string> before, after;
  for (const auto& tensor : model.graph.initializers) before.insert(tensor.name);
  const Outcome out = remove_dead_code(model);
  for (const auto& tensor : out.model.graph.initializers) after.insert(tensor.name);
  EXPECT_EQ(before, after);
  EXPECT_TRUE(onnx::structure_problems(out.model).empty());
}

TEST_F(PassesTest, TheOrderOfTheFileDoesNotMatter) {
  onnx::Model straight = small(), turned = small();
  std::swap(turned.graph.nodes[0], turned.graph.nodes[1]);
  std::reverse(turned.graph.initializers.begin(), turned.graph.initializers.end());
  turned.graph.nodes[0].name = "some_name";
  std::string bytes[2];
  for (onnx::Model* model : {&straight, &turned}) {
    const Outcome clean = put_in_order(remove_dead_code(std::move(*model)).model);
    const fs::path file = folder_ / "m.onnx";
    ASSERT_TRUE(onnx::save(clean.model, file, {}).ok());
    bytes[model == &turned] = *read_file(file);
  }
  EXPECT_EQ(bytes[0], bytes[1]);
}

TEST(Passes, AnotherOpsetKeepsTheWeights) {
  const onnx::Model model = load(data("onnx/micro-prefill-ts17/model.onnx"));
  const auto out = change_opset(model, 21);
  ASSERT_TRUE(out.ok()) << out.error().message;
  EXPECT_EQ(out->model.opsets.at(""), 21);
  EXPECT_EQ(out->model.graph.inputs.size(), model.graph.inputs.size());
  std::uint64_t before = 0, after = 0;
  for (const auto& tensor : model.graph.initializers) before += tensor.bytes > 1024 ? tensor.bytes : 0;
  for (const auto& tensor : out->model.graph.initializers) after += tensor.bytes > 1024 ? tensor.bytes : 0;
  EXPECT_EQ(before, after);
}

TEST(Passes, AProofSeesOneChangedWeight) {
  const onnx::Model model = load(data("onnx/micro-prefill-dynamo23/model.onnx"));
  const auto prompts = drawn_prompts(2, vocabulary(model));
  std::vector<Feed> feeds;
  for (const auto& prompt : prompts) {
    auto feed = feed_for(model, prompt);
    ASSERT_TRUE(feed.ok()) << feed.error().message;
    feeds.push_back(std::move(*feed));
  }
  const auto before = answers_of(model, feeds, 1);
  ASSERT_TRUE(before.ok()) << before.error().message;
  const auto same = prove(model, feeds, *before, *before);
  ASSERT_TRUE(same.ok());
  EXPECT_TRUE(same->identical());

  onnx::Model changed = model;
  auto weight = std::find_if(changed.graph.initializers.begin(), changed.graph.initializers.end(),
                             [](const auto& tensor) { return tensor.bytes > 10000; });
  auto copy = Tensor::zeros(weight->data->dtype(), weight->data->shape());
  std::copy_n(weight->data->raw(), weight->data->bytes(), copy->mutable_raw());
  for (float& value : copy->mutable_data<float>()) value *= 1.01f;
  weight->data = *copy;
  const auto after = answers_of(changed, feeds, 1);
  ASSERT_TRUE(after.ok());
  const auto proof = prove(model, feeds, *before, *after);
  ASSERT_TRUE(proof.ok());
  EXPECT_FALSE(proof->identical());
  EXPECT_GT(proof->worst_nmse(), 1e-8);
}

TEST_F(PassesTest, GraphsOfOtherExportersStayWhatTheyAre) {
  for (const char* name : {"micro-prefill-ts17", "micro-prefill-dynamo23", "micro-decode-external"}) {
    Options options;
    options.prompts = 2;
    const auto report = normalize(data("onnx") / name / "model.onnx", folder_ / name, options);
    ASSERT_TRUE(report.ok()) << name << ": " << report.error().message;
    EXPECT_TRUE(report->passed()) << name << "\n" << to_text(*report);
    const auto again = normalize(folder_ / name / "normalized/model.onnx", folder_ / "again" / name, options);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(report->graphs[0].normalized_sha256, again->graphs[0].normalized_sha256) << name;
    EXPECT_TRUE(fs::exists(folder_ / name / "raw/model.onnx"));
  }
}

TEST_F(PassesTest, AnExportIsProvenStepByStep) {
  const auto made = model::export_onnx(data("models/qwen3moe-e8k2"), folder_ / "onnx", DType::kF32);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto report = normalize(folder_ / "onnx", folder_ / "out", {});
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->passed()) << to_text(*report);
  ASSERT_EQ(report->steps.size(), 3u);  // the prompt of one token has no step
  for (const auto& step : report->steps) EXPECT_TRUE(step.same_top && step.logits_nmse < 1e-9) << step.feed;
  EXPECT_TRUE(fs::exists(folder_ / "out/normalized/weights.bin"));
  EXPECT_TRUE(fs::exists(folder_ / "out/raw/contract.json"));
  EXPECT_TRUE(read_json(folder_ / "out/passes.json").ok());
}

TEST_F(PassesTest, OperatorsThatNobodyDescribedAreRefusedByName) {
  onnx::Model model = small();
  model.opsets["com.example"] = 1;
  model.graph.nodes[0].domain = "com.example";
  ASSERT_TRUE(onnx::save(model, folder_ / "m.onnx", {}).ok());
  const auto report = normalize(folder_ / "m.onnx", folder_ / "out", {});
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().message, HasSubstr("com.example:Mul (1 node)"));
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

}  // namespace
}  // namespace calkit::passes
