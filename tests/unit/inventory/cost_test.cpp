#include "build.h"

namespace calkit::inventory::test {
namespace {

using onnx::attr;
using testing::ElementsAre;
using testing::Pair;

TEST(Cost, OfAMatrixProduct) {
  const auto inventory = take(model({value("x", "B,S,64")}, {weight("w", {64, 32})},
                                    {node("MatMul", {"x", "w"}, {"y"})}, {value("y", "B,S,32")}));
  EXPECT_EQ(inventory.cost.flops.text(), "4096*B*S");
  EXPECT_EQ(inventory.cost.weights.text(), "8192");
  EXPECT_EQ(inventory.cost.read.text(), "256*B*S");
  EXPECT_EQ(inventory.cost.written.text(), "128*B*S");
  EXPECT_EQ(inventory.input_bytes.text(), "256*B*S");
  EXPECT_FALSE(inventory.tokens.known());
}

TEST(Cost, FollowsShapesThatTheFileDoesNotState) {
  // [B, S, 64] seen as [B, S, 4, 16] by a computed shape, heads first, times its own transpose.
  auto graph =
      model({value("x", "B,S,64")}, {numbers("zero", {0}), numbers("one", {1}), numbers("tail", {4, 16})},
            {node("Shape", {"x"}, {"s"}), node("Gather", {"s", "zero"}, {"b"}), node("Gather", {"s", "one"}, {"t"}),
             node("Concat", {"b", "t", "tail"}, {"to"}, {attr("axis", 0l)}), node("Reshape", {"x", "to"}, {"q4"}),
             node("Transpose", {"q4"}, {"q"}, {attr("perm", std::vector<std::int64_t>{0, 2, 1, 3})}),
             node("Transpose", {"q4"}, {"k"}, {attr("perm", std::vector<std::int64_t>{0, 2, 3, 1})}),
             node("MatMul", {"q", "k"}, {"y"})},
            {value("y", "?,?,?,?")});
  const auto inventory = take(graph);
  EXPECT_THAT(family(inventory, "ai.onnx:MatMul").inputs, ElementsAre("FLOAT[B, 4, S, 16]", "FLOAT[B, 4, 16, S]"));
  EXPECT_THAT(family(inventory, "ai.onnx:MatMul").outputs, ElementsAre("FLOAT[B, 4, S, S]"));
  EXPECT_EQ(family(inventory, "ai.onnx:MatMul").cost.flops.text(), "128*B*S^2");
  EXPECT_EQ(inventory.values_without_shape, 0u);
}

TEST(Cost, SumsOfAxesKeepTheirMeaning) {
  const auto inventory =
      take(model({value("past", "B,2,P,8"), value("now", "B,2,S,8"), value("q", "B,2,S,8")}, {},
                 {node("Concat", {"past", "now"}, {"k"}, {attr("axis", -2l)}),
                  node("Transpose", {"k"}, {"kt"}, {attr("perm", std::vector<std::int64_t>{0, 1, 3, 2})}),
                  node("MatMul", {"q", "kt"}, {"y"})},
                 {value("y", "B,2,S,total")}));
  EXPECT_EQ(family(inventory, "ai.onnx:MatMul").cost.flops.text(), "32*B*P*S + 32*B*S^2");
  EXPECT_EQ(inventory.relations.at("total").text(), "P + S");
}

TEST(Cost, TokensAreWhatTheTableIsLookedUpWith) {
  const auto inventory = take(model({value("ids", "B,S", 7)}, {weight("table", {1000, 64}), weight("w", {64, 1000})},
                                    {node("Gather", {"table", "ids"}, {"x"}), node("MatMul", {"x", "w"}, {"y"})},
                                    {value("y", "B,S,1000")}));
  EXPECT_EQ(inventory.tokens.text(), "B*S");
  EXPECT_EQ(inventory.cost.flops.over(inventory.tokens).text(), "128000");
  EXPECT_EQ(family(inventory, "ai.onnx:Gather").cost.weights.text(), "256*B*S");  // the rows, not the table
  EXPECT_EQ(inventory.cost.weights.over(inventory.tokens).text(), "256 + 256000/(B*S)");
  EXPECT_THAT(inventory.at, ElementsAre(Pair("B", 1), Pair("S", 512)));
  EXPECT_EQ(inventory.at_defaults, inventory.at);
}

TEST(Cost, WhatIsComputedFromConstantsIsFolded) {
  const auto inventory =
      take(model({value("x", "B,64")}, {weight("w", {32, 64})},
                 {node("Transpose", {"w"}, {"wt"}), node("MatMul", {"x", "wt"}, {"y"})}, {value("y", "B,32")}));
  EXPECT_EQ(family(inventory, "ai.onnx:Transpose").support.state, Support::State::kFolded);
  EXPECT_TRUE(family(inventory, "ai.onnx:Transpose").cost.bytes().is_zero());
  EXPECT_EQ(family(inventory, "ai.onnx:MatMul").cost.weights.text(), "8192");
}

TEST(Cost, WhatIsNotKnownIsLeftOutAndTold) {
  const auto inventory =
      take(model({value("x", "B,64")}, {},
                 {node("my.domain:Magic", {"x"}, {"m"}), node("Relu", {"m"}, {"n"}), node("Relu", {"x"}, {"y"})},
                 {value("y", "B,64"), value("n", "B,64")}));
  EXPECT_EQ(inventory.cost.flops.text(), "128*B");
  EXPECT_THAT(inventory.flops_unknown, ElementsAre(Pair("my.domain:Magic", 1)));
  EXPECT_FALSE(family(inventory, "my.domain:Magic").cost.flops.known());
  EXPECT_EQ(family(inventory, "my.domain:Magic").support.state, Support::State::kUnsupported);
}

TEST(Cost, OfConvolutionGemmAndAttention) {
  const auto inventory = take(model({value("x", "N,3,32,32"), value("a", "M,8"), value("q", "B,4,S,16"),
                                     value("k", "B,2,T,16"), value("v", "B,2,T,16")},
                                    {weight("w", {6, 3, 3, 3}), weight("g", {8, 5}), weight("c", {5})},
                                    {node("Conv", {"x", "w"}, {"y"}), node("Gemm", {"a", "g", "c"}, {"z"}),
                                     node("Attention", {"q", "k", "v"}, {"o"})},
                                    {value("y", "N,6,30,30"), value("z", "M,5"), value("o", "B,4,S,16")}));
  EXPECT_EQ(family(inventory, "ai.onnx:Conv").cost.flops.text(), "291600*N");        // 2 * 6*30*30 * 3*3*3
  EXPECT_EQ(family(inventory, "ai.onnx:Gemm").cost.flops.text(), "85*M");            // 2 * 5*8 + 5
  EXPECT_EQ(family(inventory, "ai.onnx:Attention").cost.flops.text(), "276*B*S*T");  // 4 heads * (2*16 + 2*16 + 5)
}

TEST(Cost, AFunctionCountsForEachCallAndItsBodyOnce) {
  Model graph =
      model({value("x", "B,64"), value("z", "B,32")}, {},
            {node("my:Twice", {"x"}, {"y"}), node("my:Twice", {"z"}, {"w"})}, {value("y", "B,64"), value("w", "B,32")});
  onnx::Function twice;
  twice.domain = "my";
  twice.name = "Twice";
  twice.inputs = {"a"};
  twice.outputs = {"b"};
  twice.nodes = {node("Add", {"a", "a"}, {"b"})};
  graph.functions.push_back(twice);
  const auto inventory = take(graph);
  EXPECT_EQ(inventory.nodes, 3u);
  EXPECT_EQ(inventory.cost.flops.text(), "96*B");
  EXPECT_THAT(inventory.function_calls, ElementsAre(Pair("my:Twice", 2)));
  EXPECT_EQ(family(inventory, "my:Twice").support.state, Support::State::kFunction);
  EXPECT_THAT(family(inventory, "ai.onnx:Add").inputs, ElementsAre("FLOAT[B, 64]", "FLOAT[B, 64]"));
}

TEST(Cost, FunctionsThatCallEachOtherDoNotExplode) {
  Model graph = model({value("x", "B")}, {}, {node("my:F0", {"x"}, {"y"})}, {value("y", "B")});
  for (int i = 0; i < 200; ++i) {
    onnx::Function function;
    function.domain = "my";
    function.name = "F" + std::to_string(i);
    function.inputs = {"a"};
    function.outputs = {"b"};
    const std::string next = "my:F" + std::to_string(i + 1);
    function.nodes = {node(next, {"a"}, {"t"}), node(next, {"t"}, {"b"})};
    if (i == 199) function.nodes = {node("Relu", {"a"}, {"b"})};
    graph.functions.push_back(function);
  }
  EXPECT_EQ(take(graph).nodes, 1u + 199 * 2 + 1);
  graph.functions.back().nodes = {node("my:F0", {"a"}, {"b"})};  // a cycle
  EXPECT_FALSE(take(graph).passed());
}

TEST(Cost, FixturesOfOtherExportersHaveFormulasForAllTheirNodes) {
  for (const char* name :
       {"micro-prefill-ts17", "micro-prefill-dynamo23", "micro-decode-external", "micro-decode-fp16"}) {
    const auto inventory = take_inventory(data(std::string("onnx/") + name + "/model.onnx"));
    ASSERT_TRUE(inventory.ok());
    EXPECT_TRUE(inventory->flops_unknown.empty()) << name << " " << inventory->flops_unknown.begin()->first;
    EXPECT_TRUE(inventory->tokens.known()) << name;
    EXPECT_GT(inventory->cost.flops.symbols().size(), 0u) << name;
  }
}

TEST(Cost, TwoExportersOfOneModelAgreeOnItsProducts) {
  const auto products = [](const char* name) {
    const auto inventory = take_inventory(data(std::string("onnx/") + name + "/model.onnx"));
    double out = 0;
    if (!inventory.ok()) return out;
    for (const Family& one : inventory->families)
      if (one.op == "ai.onnx:MatMul" || one.op == "ai.onnx:Gemm" || one.op == "ai.onnx:Attention")
        out += one.cost.flops.with(inventory->relations)
                   .at({{"batch", 2}, {"seq", 16}, {"total", 16}})
                   .number()
                   .value_or(1e99);
    return out;
  };
  const double spelt_out = products("micro-prefill-ts17"), fused = products("micro-prefill-dynamo23");
  EXPECT_GT(spelt_out, 0);
  EXPECT_EQ(fused, spelt_out);
}

}  // namespace
}  // namespace calkit::inventory::test
