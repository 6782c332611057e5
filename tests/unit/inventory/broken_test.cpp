// Files that are ONNX and wrong: a finding each.
#include "build.h"
#include "calkit/base/files.h"
#include "scratch_dir.h"

namespace calkit::inventory::test {
namespace {

using onnx::attr;
using testing::Contains;
using testing::HasSubstr;

std::vector<std::string> errors_of(const Model& graph) {
  const testing_support::ScratchDir folder;
  EXPECT_TRUE(onnx::save(graph, folder / "m.onnx", {}).ok());
  const auto inventory = take_inventory(folder / "m.onnx");
  EXPECT_TRUE(inventory.ok());
  std::vector<std::string> out;
  if (!inventory.ok()) return out;
  for (const Finding& finding : inventory->findings)
    if (finding.severity == Finding::Severity::kError) out.push_back(finding.text);
  return out;
}

Model relu() {
  return model({value("x", "B,4")}, {}, {node("Relu", {"x"}, {"y"})}, {value("y", "B,4")});
}

TEST(Broken, AGoodOneHasNoErrors) {
  EXPECT_THAT(errors_of(relu()), testing::IsEmpty());
}

TEST(Broken, VersionsThatNobodyKnows) {
  Model graph = relu();
  graph.opsets[""] = 99;
  EXPECT_THAT(errors_of(graph), Contains(HasSubstr("opset 99 of ai.onnx")));
  graph = relu();
  graph.opsets[""] = -3;
  EXPECT_THAT(errors_of(graph), Contains(HasSubstr("opset -3 of ai.onnx")));
  graph = relu();
  graph.ir_version = 4711;
  EXPECT_THAT(errors_of(graph), Contains(HasSubstr("IR version 4711")));
  for (const std::int64_t opset : {7, 13, 18, 23, 28}) {
    graph = relu();
    graph.opsets[""] = opset;
    EXPECT_THAT(errors_of(graph), testing::IsEmpty()) << opset;
  }
}

TEST(Broken, TypesThatContradict) {
  Model graph =
      model({value("x", "B,4"), value("n", "B,4", 7)}, {}, {node("Add", {"x", "n"}, {"y"})}, {value("y", "B,4")});
  EXPECT_THAT(errors_of(graph), Contains(HasSubstr("types contradict")));
  graph = relu();
  graph.graph.outputs[0].type = 7;
  EXPECT_THAT(errors_of(graph), Contains(HasSubstr("types contradict")));
  graph = relu();
  graph.graph.inputs[0].type = 8;  // STRING
  graph.graph.outputs[0].type = 8;
  EXPECT_THAT(errors_of(graph), Contains(HasSubstr("types contradict")));
}

TEST(Broken, NodesThatBreakTheirDefinition) {
  Model graph = relu();
  graph.graph.nodes[0].inputs = {"x", "x"};
  EXPECT_THAT(errors_of(graph), Contains(testing::AllOf(HasSubstr("'y_node'"), HasSubstr("no valid Relu"))));
  graph = relu();
  graph.graph.nodes[0].attributes = {attr("alpha", 1.0f)};
  EXPECT_THAT(errors_of(graph), Contains(HasSubstr("alpha")));
  graph = model({value("x", "B,4")}, {}, {node("Softmax", {"x"}, {"y"}, {attr("axis", 1.0f)})}, {value("y", "B,4")});
  EXPECT_THAT(errors_of(graph), Contains(HasSubstr("axis")));
}

TEST(Broken, ShapesThatDoNotFitAreTold) {
  const testing_support::ScratchDir folder;
  const Model graph =
      model({value("x", "2,4"), value("z", "3,5")}, {}, {node("MatMul", {"x", "z"}, {"y"})}, {value("y", "2,5")});
  ASSERT_TRUE(onnx::save(graph, folder / "m.onnx", {}).ok());
  const auto inventory = take_inventory(folder / "m.onnx");
  ASSERT_TRUE(inventory.ok());
  EXPECT_THAT(inventory->inference_note, HasSubstr("MatMul"));
}

TEST(Broken, AWideValueDoesNotMakeWorkQuadratic) {
  std::vector<Node> nodes;
  for (int i = 0; i < 20'000; ++i) nodes.push_back(node("Sigmoid", {"x"}, {"y" + std::to_string(i)}));
  const auto start = std::chrono::steady_clock::now();
  const auto inventory = take(model({value("x", "B,4")}, {}, nodes, {value("y0", "B,4")}));
  EXPECT_EQ(inventory.families.size(), 1u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace calkit::inventory::test
