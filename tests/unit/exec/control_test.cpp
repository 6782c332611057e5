// Graphs inside nodes, functions, older opsets, and what one run may spend.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calkit/exec/session.h"

namespace calkit::exec {
namespace {

using onnx::attr;
using testing::ElementsAre;
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

onnx::Attribute graph_attr(std::string name, onnx::Graph graph) {
  onnx::Attribute out;
  out.name = std::move(name);
  out.kind = onnx::Attribute::Kind::kGraph;
  out.graphs.push_back(std::make_shared<onnx::Graph>(std::move(graph)));
  return out;
}

onnx::Initializer initializer(std::string name, Tensor data) {
  onnx::Initializer out;
  out.name = std::move(name);
  out.type = onnx::from_dtype(data.dtype());
  out.dims = data.shape();
  out.data = std::move(data);
  return out;
}

onnx::Graph body(std::vector<std::string> inputs, std::vector<onnx::Node> nodes, std::vector<std::string> outputs) {
  onnx::Graph out;
  for (auto& name : inputs) out.inputs.push_back({name, 0, {}});
  for (auto& name : outputs) out.outputs.push_back({name, 0, {}});
  out.nodes = std::move(nodes);
  return out;
}

onnx::Model model_of(onnx::Graph graph, std::int64_t opset = 21) {
  onnx::Model out;
  out.opsets[""] = opset;
  out.graph = std::move(graph);
  return out;
}

// y = what the graph gives, or the message.
struct Answer {
  std::vector<float> values;
  std::string error;
};
Answer run(onnx::Model model, const std::map<std::string, Tensor>& inputs, const SessionOptions& options = {}) {
  auto session = Session::create(std::move(model), options);
  if (!session.ok()) return {{}, session.error().message};
  const std::string wanted[] = {"y"};
  auto results = session->run(inputs, wanted);
  if (!results.ok()) return {{}, results.error().message};
  return {*to_floats(results->front()), ""};
}

const Tensor kTwo = Tensor::of<float>({2}, {1, 2});

// y = x + 1 turn by turn; `step` is a value of the graph around the body.
onnx::Model loop(std::int64_t trips) {
  onnx::Graph graph = body(
      {"x"},
      {node("Loop", {"trips", "", "x"}, {"y"},
            {graph_attr("body", body({"i", "go", "before"},
                                     {node("Add", {"before", "step"}, {"after"}), node("Identity", {"go"}, {"on"})},
                                     {"on", "after"}))})},
      {"y"});
  graph.nodes.insert(graph.nodes.begin(), node("Abs", {"x"}, {"step"}));
  graph.initializers = {initializer("trips", Tensor::of<std::int64_t>({}, {trips}))};
  return model_of(std::move(graph));
}

TEST(Control, ALoopReadsValuesAroundIt) {
  EXPECT_THAT(run(loop(3), {{"x", kTwo}}).values, ElementsAre(4, 8));
  EXPECT_THAT(run(loop(0), {{"x", kTwo}}).values, ElementsAre(1, 2));
}

TEST(Control, ALoopWithoutEndStopsAtTheLimitOfTheCaller) {
  SessionOptions few;
  few.max_node_runs = 1000;
  EXPECT_THAT(run(loop(INT64_MAX), {{"x", kTwo}}, few).error, HasSubstr("more than 1000 nodes to run"));
}

TEST(Control, AnIfInsideAnIfReadsTheOutermostGraph) {
  const auto branch = [](const char* name, std::vector<onnx::Node> nodes) {
    return graph_attr(name, body({}, std::move(nodes), {"b"}));
  };
  const auto inner = node("If", {"other"}, {"b"},
                          {graph_attr("then_branch", body({}, {node("Neg", {"x"}, {"c"})}, {"c"})),
                           graph_attr("else_branch", body({}, {}, {"x"}))});
  onnx::Graph graph =
      body({"x", "condition", "other"},
           {node("If", {"condition"}, {"y"},
                 {branch("then_branch", {inner}), branch("else_branch", {node("Sqrt", {"x"}, {"b"})})})},
           {"y"});
  const auto flag = [](bool value) { return Tensor::of<bool>({}, {value}); };
  const Tensor x = Tensor::of<float>({1}, {4});
  const auto answer = [&](bool a, bool b) {
    return run(model_of(graph), {{"x", x}, {"condition", flag(a)}, {"other", flag(b)}});
  };
  EXPECT_THAT(answer(true, true).values, ElementsAre(-4));
  EXPECT_THAT(answer(true, false).values, ElementsAre(4));
  EXPECT_THAT(answer(false, false).values, ElementsAre(2));
}

TEST(Control, AGraphInsideKeepsWhatItReadsFromBeingFusedAway) {
  // silu(x) * x, whose sigmoid an If reads, too.
  const auto same = [](const char* name) { return graph_attr(name, body({}, {}, {"s"})); };
  onnx::Graph graph = body(
      {"x", "condition"},
      {node("Sigmoid", {"x"}, {"s"}), node("Mul", {"x", "s"}, {"m"}), node("Mul", {"m", "x"}, {"p"}),
       node("If", {"condition"}, {"q"}, {same("then_branch"), same("else_branch")}), node("Sub", {"q", "s"}, {"y"})},
      {"y"});
  EXPECT_THAT(run(model_of(graph), {{"x", kTwo}, {"condition", Tensor::of<bool>({}, {true})}}).values,
              ElementsAre(0, 0));
}

TEST(Control, GraphsOfAnotherFormAreRefusedByName) {
  onnx::Model no_body = loop(1);
  no_body.graph.nodes[1].attributes.clear();
  EXPECT_THAT(run(no_body, {{"x", kTwo}}).error, testing::AllOf(HasSubstr("Loop 'n_y'"), HasSubstr("no graph 'body'")));
  onnx::Model counts = loop(1);
  counts.graph.nodes[1].inputs.push_back("x");
  EXPECT_THAT(run(counts, {{"x", kTwo}}).error, HasSubstr("3 inputs and 2 outputs"));
  onnx::Model unknown = loop(1);
  unknown.graph.nodes[1].attributes[0].graphs[0]->nodes[0].inputs[1] = "nowhere";
  EXPECT_THAT(run(unknown, {{"x", kTwo}}).error, HasSubstr("'nowhere'"));
}

onnx::Model with_function(std::vector<onnx::Node> nodes) {
  onnx::Model model = model_of(body({"x"}, {node("Twice", {"x"}, {"y"})}, {"y"}));
  model.graph.nodes[0].domain = "own";
  onnx::Function function;
  function.domain = "own";
  function.name = "Twice";
  function.inputs = {"a", "unused"};
  function.outputs = {"b"};
  function.nodes = std::move(nodes);
  function.attributes = {attr("alpha", 0.5f)};
  model.functions = {function};
  return model;
}

TEST(Functions, AreExpandedWithTheirAttributesAndDefaults) {
  onnx::Attribute by_name;
  by_name.name = "alpha";
  by_name.kind = onnx::Attribute::Kind::kFloat;
  by_name.ref = "alpha";
  onnx::Model model = with_function(
      {node("Neg", {"a"}, {"x"}), node("LeakyRelu", {"x"}, {"b"}, {by_name})});  // "x" is the function's own
  EXPECT_THAT(run(model, {{"x", kTwo}}).values, ElementsAre(-0.5, -1));
  model.graph.nodes[0].attributes = {attr("alpha", 2.0f)};
  EXPECT_THAT(run(model, {{"x", kTwo}}).values, ElementsAre(-2, -4));
}

TEST(Functions, ThatCallThemselvesAreRefused) {
  auto self = node("Twice", {"a"}, {"b"});
  self.domain = "own";
  EXPECT_THAT(run(with_function({self}), {{"x", kTwo}}).error, HasSubstr("65 deep"));
}

TEST(Opsets, AxesWereAttributesOnce) {
  onnx::Graph graph =
      body({"x"}, {node("ReduceSum", {"x"}, {"y"}, {attr("axes", std::vector<std::int64_t>{0})})}, {"y"});
  EXPECT_THAT(run(model_of(graph, 11), {{"x", kTwo}}).values, ElementsAre(3));
  EXPECT_THAT(run(model_of(graph, 13), {{"x", kTwo}}).error, HasSubstr("attribute 'axes'"));
}

TEST(Opsets, SoftmaxFlattenedOnce) {
  onnx::Graph graph = body({"x"}, {node("Softmax", {"x"}, {"y"}, {attr("axis", std::int64_t{0})})}, {"y"});
  const Tensor x = Tensor::of<float>({2, 2}, {1, 1, 1, 1});
  EXPECT_THAT(run(model_of(graph, 12), {{"x", x}}).values, ElementsAre(0.25, 0.25, 0.25, 0.25));
  EXPECT_THAT(run(model_of(graph, 13), {{"x", x}}).values, ElementsAre(0.5, 0.5, 0.5, 0.5));
}

TEST(Limits, AValueLargerThanTheCallerAllowsIsRefusedBeforeItIsMade) {
  onnx::Graph graph = body({"shape"}, {node("ConstantOfShape", {"shape"}, {"y"})}, {"y"});
  SessionOptions little;
  little.max_bytes = 1 << 20;
  const auto shaped = [](std::int64_t a, std::int64_t b) {
    return std::map<std::string, Tensor>{{"shape", Tensor::of<std::int64_t>({2}, {a, b})}};
  };
  EXPECT_EQ(run(model_of(graph), shaped(2, 3), little).values.size(), 6u);
  for (const auto& [a, b] : {std::pair<std::int64_t, std::int64_t>{1 << 10, 1 << 10}, {INT64_MAX, INT64_MAX}, {-1, 4}})
    EXPECT_THAT(run(model_of(graph), shaped(a, b), little).error, HasSubstr("ConstantOfShape 'n_y'"));
}

TEST(Limits, AttributesOfAnotherKindAreRefused) {
  onnx::Graph graph = body({"x"}, {node("Softmax", {"x"}, {"y"}, {attr("axis", 1.0f)})}, {"y"});
  EXPECT_THAT(run(model_of(graph), {{"x", kTwo}}).error,
              HasSubstr("attribute 'axis' of another kind; allowed: an integer"));
}

TEST(Types, OperandsOfTwoTypesAreRefusedAndNarrowOnesAreComputedWider) {
  onnx::Graph graph = body({"x", "z"}, {node("Mul", {"x", "z"}, {"y"})}, {"y"});
  const Tensor half = *convert(kTwo, DType::kF16), small = *convert(Tensor::of<float>({1}, {100}), DType::kI8);
  EXPECT_THAT(run(model_of(graph), {{"x", half}, {"z", half}}).values, ElementsAre(1, 4));
  EXPECT_THAT(run(model_of(graph), {{"x", half}, {"z", kTwo}}).error, HasSubstr("allowed: f16"));
  EXPECT_THAT(run(model_of(graph), {{"x", small}, {"z", small}}).values, ElementsAre(16));  // 10000 wraps
}

}  // namespace
}  // namespace calkit::exec
