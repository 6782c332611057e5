#include "helpers.h"

namespace calkit::onnx::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Model chain() {
  Model model;
  model.ir_version = 11;
  model.opsets[""] = 23;
  model.graph.inputs = {{"x", 1, std::nullopt}};
  model.graph.outputs = {{"y", 1, std::nullopt}};
  model.graph.nodes = {node("a", "Relu", {"x"}, {"m"}), node("b", "Relu", {"m"}, {"y"})};
  return model;
}

Attribute subgraph(std::vector<Node> nodes, const std::string& output) {
  Attribute out;
  out.name = "body";
  out.kind = Attribute::Kind::kGraph;
  auto graph = std::make_shared<Graph>();
  graph->nodes = std::move(nodes);
  graph->outputs = {{output, 1, std::nullopt}};
  out.graphs = {graph};
  return out;
}

TEST(OnnxStructure, ASortedChainHasNoProblem) {
  EXPECT_THAT(structure_problems(chain()), IsEmpty());
}

TEST(OnnxStructure, AnInputThatNothingProducesIsNamed) {
  Model model = chain();
  model.graph.nodes[1].inputs = {"ghost"};
  EXPECT_THAT(structure_problems(model), ElementsAre("node 'b' reads 'ghost', which nothing produces"));
}

TEST(OnnxStructure, AnUnproducedOutputIsNamed) {
  Model model = chain();
  model.graph.outputs[0].name = "z";
  EXPECT_THAT(structure_problems(model), ElementsAre("output 'z' is produced by no node"));
}

TEST(OnnxStructure, AValueProducedTwiceIsNamed) {
  Model model = chain();
  model.graph.nodes.push_back(node("c", "Relu", {"x"}, {"y"}));
  EXPECT_THAT(structure_problems(model), ElementsAre("value 'y' is produced a second time by node 'c'"));
}

TEST(OnnxStructure, ASubgraphMaySeeValuesAroundIt) {
  Model model = chain();
  model.graph.nodes[1].attributes = {subgraph({node("in", "Relu", {"m"}, {"k"})}, "k")};
  EXPECT_THAT(structure_problems(model), IsEmpty());
}

TEST(OnnxStructure, ASubgraphThatReadsALaterValueIsOutOfOrder) {
  Model model = chain();
  model.graph.nodes[0].attributes = {subgraph({node("in", "Relu", {"y"}, {"k"})}, "k")};
  model.graph.nodes[1].inputs = {"x"};
  EXPECT_THAT(structure_problems(model),
              ElementsAre("nodes are out of order: node 'a' reads 'y' before node 'b' produces it"));
}

TEST(OnnxStructure, ACycleInsideASubgraphTellsWhere) {
  Model model = chain();
  model.graph.nodes[0].attributes = {
      subgraph({node("p", "Relu", {"q1"}, {"p1"}), node("q", "Relu", {"p1"}, {"q1"})}, "q1")};
  EXPECT_THAT(structure_problems(model),
              ElementsAre(testing::AllOf(HasSubstr("node 'a' / body: "), HasSubstr("cycle"), HasSubstr("'p'"))));
}

TEST(OnnxStructure, ANodeThatReadsItselfIsACycle) {
  Model model = chain();
  model.graph.nodes[0].inputs = {"m"};
  EXPECT_THAT(structure_problems(model), ElementsAre("nodes depend on each other in a cycle: node 'a'"));
}

TEST(OnnxStructure, FunctionsThatCallEachOtherForEverAreNamed) {
  Model model = chain();
  Function f{"d", "F", {"x"}, {"y"}, {}, {}, {node("f", "G", {"x"}, {"y"})}, {}};
  Function g{"d", "G", {"x"}, {"y"}, {}, {}, {node("g", "F", {"x"}, {"y"})}, {}};
  f.nodes[0].domain = g.nodes[0].domain = "d";
  model.functions = {f, g};
  EXPECT_THAT(structure_problems(model), ElementsAre(HasSubstr("functions call each other in a cycle")));
}

TEST(OnnxStructure, AHundredThousandNodesInALoopAreToldWithoutRecursion) {
  Model model = chain();
  model.graph.nodes.clear();
  constexpr int kNodes = 100000;
  for (int i = 0; i < kNodes; ++i)
    model.graph.nodes.push_back(
        node("", "Relu", {"v" + std::to_string((i + kNodes - 1) % kNodes)}, {"v" + std::to_string(i)}));
  model.graph.outputs = {};
  EXPECT_THAT(structure_problems(model), ElementsAre(HasSubstr("cycle")));
}

}  // namespace
}  // namespace calkit::onnx::test
