// Graphs that fail are cut down to what fails, through every kind of graph inside a graph.
#include "calkit/passes/reduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "calkit/onnx/io.h"
#include "passes/cut.h"
#include "passes/minimise.h"

namespace calkit::passes {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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
onnx::ValueInfo floats(const std::string& name) {
  return {name, 1, {{onnx::Dim::symbol("N")}}};
}
onnx::Attribute inner(const std::string& name, onnx::Graph graph) {
  onnx::Attribute out;
  out.name = name;
  out.kind = onnx::Attribute::Kind::kGraph;
  graph.name = name;
  out.graphs = {std::make_shared<onnx::Graph>(std::move(graph))};
  return out;
}
/// y = Neg(Neg(... Exp at `place` ... (x)))
onnx::Model chain(std::size_t count, std::size_t place) {
  onnx::Model out;
  out.ir_version = 8;
  out.opsets[""] = 17;
  out.graph.name = "chain";
  out.graph.inputs = {floats("v0")};
  out.graph.outputs = {floats("v" + std::to_string(count))};
  for (std::size_t i = 0; i < count; ++i)
    out.graph.nodes.push_back(node(i == place ? "Exp" : "Neg", {"v" + std::to_string(i)}, "v" + std::to_string(i + 1)));
  return out;
}

class Reduce : public testing::Test {
 protected:
  Reduce() : folder_(fs::path(testing::TempDir()) / ("reduce_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~Reduce() override { fs::remove_all(folder_); }

  /// Fails where the file has one of these words: a shell's way to look at a graph.
  Result<ReduceReport> run(const onnx::Model& model, const std::string& word) {
    EXPECT_TRUE(onnx::save(model, folder_ / "m.onnx", {}).ok());
    ReduceOptions options;
    if (!word.empty()) options.command = "if grep -q '" + word + "' {}; then exit 9; fi";
    return reduce(folder_ / "m.onnx", folder_ / "out", options);
  }
  std::vector<std::string> ops_left() const {
    std::vector<std::string> out;
    const auto model = onnx::load(folder_ / "out/reduced.onnx");
    EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().message);
    if (!model.ok()) return out;
    EXPECT_TRUE(onnx::check_file(folder_ / "out/reduced.onnx", true).ok());
    for (const auto& each : model->graph.nodes) out.push_back(each.op_type);
    return out;
  }
  fs::path folder_;
};

TEST(Minimise, FindsWhatMattersInFewTries) {
  for (const std::set<std::size_t>& wanted : {std::set<std::size_t>{0}, {511}, {17, 300}, {1, 2, 3, 400}}) {
    std::size_t tries = 0;
    const auto left = minimise(512, [&](const std::vector<std::size_t>& kept) -> Result<bool> {
      ++tries;
      return std::all_of(wanted.begin(), wanted.end(),
                         [&](std::size_t i) { return std::binary_search(kept.begin(), kept.end(), i); });
    });
    ASSERT_TRUE(left.ok());
    EXPECT_EQ(std::set<std::size_t>(left->begin(), left->end()), wanted);
    EXPECT_LE(tries, 25 * wanted.size());
  }
}

TEST(Minimise, AnErrorEndsIt) {
  const auto left = minimise(8, [](const auto&) -> Result<bool> { return Error(ErrorKind::kInterrupted, "stop"); });
  EXPECT_FALSE(left.ok());
}

TEST_F(Reduce, OneNodeOfAChain) {
  for (const std::size_t place : {0u, 50u, 99u}) {
    const auto report = run(chain(100, place), "Exp");
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_THAT(ops_left(), ElementsAre("Exp")) << place;
    EXPECT_EQ(report->nodes_before, 100u);
    EXPECT_THAT(report->inputs, ElementsAre("v" + std::to_string(place)));
    EXPECT_EQ(report->cut_inputs.empty(), place == 0);
    EXPECT_THAT(report->constants, IsEmpty());
    EXPECT_LE(report->checks, 30u);
    EXPECT_FALSE(fs::exists(folder_ / "out/work"));
  }
}

TEST_F(Reduce, TheSameGraphGivesTheSameBytes) {
  const auto first = run(chain(40, 7), "Exp");
  const auto second = run(chain(40, 7), "Exp");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->reduced_sha256, second->reduced_sha256);
}

TEST_F(Reduce, AValueThatMattersStaysAsARunGaveIt) {
  // Reshape's shape is computed; no input would do instead, because the command asks for the constant.
  onnx::Model model = chain(3, 9);
  model.graph.nodes.push_back(node("Shape", {"v3"}, "extent"));
  model.graph.nodes.push_back(node("Reshape", {"v3", "extent"}, "out"));
  model.graph.outputs = {floats("out")};
  ASSERT_TRUE(onnx::save(model, folder_ / "m.onnx", {}).ok());
  ReduceOptions options;
  options.command = "if grep -q Reshape {} && ! head -c 4000 {} | tr '\\n' ' ' | grep -q 'Z.*extent'; then exit 9; fi";
  const auto report = reduce(folder_ / "m.onnx", folder_ / "out", options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_THAT(ops_left(), ElementsAre("Reshape"));
  EXPECT_THAT(report->constants, ElementsAre("extent"));
}

TEST_F(Reduce, ABranchTakesThePlaceOfItsNode) {
  onnx::Model model = chain(4, 9);
  onnx::Node both = node("If", {"which"}, "y");
  onnx::Graph yes, no;
  yes.nodes = {node("Neg", {"v4"}, "a"), node("Exp", {"a"}, "b"), node("Neg", {"b"}, "c")};
  yes.outputs = {floats("c")};
  no.nodes = {node("Abs", {"v4"}, "d")};
  no.outputs = {floats("d")};
  both.attributes = {inner("then_branch", yes), inner("else_branch", no)};
  model.graph.nodes.push_back(both);
  model.graph.initializers = {constant("which", Tensor::of<bool>({}, {true}))};
  model.graph.outputs = {floats("y")};
  const auto report = run(model, "Exp");
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_THAT(ops_left(), ElementsAre("Exp"));
  EXPECT_EQ(report->nodes_before, 9u);
  EXPECT_EQ(report->nodes_after, 1u);
}

TEST_F(Reduce, ABodyOfALoopLosesItsNodes) {
  onnx::Model model = chain(2, 9);
  onnx::Graph body;
  body.inputs = {{"i", 7, std::vector<onnx::Dim>()}, {"go", 9, std::vector<onnx::Dim>()}, floats("carried")};
  body.nodes = {node("Identity", {"go"}, "on"), node("Neg", {"carried"}, "p"), node("Abs", {"p"}, "q"),
                node("Exp", {"q"}, "r"), node("Neg", {"r"}, "next")};
  body.outputs = {{"on", 9, std::vector<onnx::Dim>()}, floats("next")};
  onnx::Node loop = node("Loop", {"turns", "", "v2"}, "y");
  loop.attributes = {inner("body", body)};
  model.graph.nodes.push_back(loop);
  model.graph.initializers = {constant("turns", Tensor::of<std::int64_t>({}, {3}))};
  model.graph.outputs = {floats("y")};
  const auto report = run(model, "Exp");
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_THAT(ops_left(), ElementsAre("Loop"));
  EXPECT_LE(report->nodes_after, 4u) << to_text(*report);
}

TEST_F(Reduce, FunctionsAreOpened) {
  onnx::Model model = chain(3, 9);
  onnx::Function function;
  function.domain = "com.example";
  function.name = "Three";
  function.inputs = {"x"};
  function.outputs = {"z"};
  function.nodes = {node("Neg", {"x"}, "n"), node("Exp", {"n"}, "e"), node("Neg", {"e"}, "z")};
  function.opsets[""] = 17;
  model.functions = {function};
  model.opsets["com.example"] = 1;
  model.graph.nodes.push_back(node("Three", {"v3"}, "y"));
  model.graph.nodes.back().domain = "com.example";
  model.graph.outputs = {floats("y")};
  const auto report = run(model, "Exp");
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_THAT(ops_left(), ElementsAre("Exp"));
}

TEST_F(Reduce, WhatCalkitCannotRunIsFoundWithoutACommand) {
  onnx::Model model = chain(60, 99);
  model.graph.nodes[30].op_type = "Fancy";
  model.graph.nodes[30].domain = "com.example";
  model.opsets["com.example"] = 1;
  model.graph.value_info = {floats("v31")};
  const auto report = run(model, "");
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_THAT(ops_left(), ElementsAre("Fancy"));
  EXPECT_THAT(report->message, HasSubstr("com.example"));
}

TEST_F(Reduce, AGraphThatRunsIsNothingToReduce) {
  const auto report = run(chain(3, 1), "");
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().message, HasSubstr("found a graph that calkit can run"));
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(Reduce, AFlakyCommandIsRefused) {
  ASSERT_TRUE(onnx::save(chain(3, 1), folder_ / "m.onnx", {}).ok());
  ReduceOptions options;
  options.command =
      "echo >> " + (folder_ / "count").string() + "; exit $(wc -l < " + (folder_ / "count").string() + ")";
  const auto report = reduce(folder_ / "m.onnx", folder_ / "out", options);
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().message, HasSubstr("exit 1, then exit 2"));
}

TEST_F(Reduce, LargeWeightsOfWhatIsLeftStayOutside) {
  onnx::Model model = chain(10, 99);
  const auto weight = Tensor::zeros(DType::kF32, {600'000});
  model.graph.inputs = {{"v0", 1, {{onnx::Dim::of(600'000)}}}};
  model.graph.initializers = {constant("w", *weight), constant("unread", *weight)};
  model.graph.nodes[5] = node("Add", {"v5", "w"}, "v6");
  model.graph.nodes[5].name = "here";
  model.graph.nodes[8] = node("Add", {"v8", "unread"}, "v9");
  model.graph.outputs = {{"v10", 1, {{onnx::Dim::of(600'000)}}}};
  onnx::SaveOptions save;
  save.external_name = "big.bin";
  ASSERT_TRUE(onnx::save(model, folder_ / "m.onnx", save).ok());
  ReduceOptions options;
  options.command = "if grep -q here {}; then exit 9; fi";
  const auto report = reduce(folder_ / "m.onnx", folder_ / "out", options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_THAT(ops_left(), ElementsAre("Add"));
  EXPECT_EQ(fs::file_size(folder_ / "out/weights.bin"), 2'400'000u);
  EXPECT_LT(fs::file_size(folder_ / "out/reduced.onnx"), 2000u);
}

}  // namespace
}  // namespace calkit::passes
