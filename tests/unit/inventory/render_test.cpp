#include "build.h"
#include "calkit/base/document.h"
#include "calkit/manifest/check.h"

namespace calkit::inventory::test {
namespace {

using onnx::attr;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

Inventory fixture(const std::string& name) {
  auto out = take_inventory(data("onnx/" + name + "/model.onnx"));
  EXPECT_TRUE(out.ok());
  return out.ok() ? *out : Inventory{};
}

/// A model whose names want to break out of every format.
Inventory hostile() {
  const std::string bad = "</script><img src=x onerror=alert(1)>\"'&|`=1+1\n\x01";
  Model graph = model({value(bad, "B,4")}, {}, {node("evil:" + bad, {bad}, {"t"}), node("Relu", {"t"}, {"y" + bad})},
                      {value("y" + bad, "B,4")});
  graph.graph.nodes[1].name = "=HYPERLINK(\"x\")";
  graph.producer_name = bad;
  Inventory out = take(graph);
  out.file = "=" + bad;
  return out;
}

TEST(Render, TheDocumentKeepsItsSchema) {
  const auto schema = read_json(CALKIT_SOURCE_DIR "/manifests/schemas/onnx-inventory.schema.json");
  ASSERT_TRUE(schema.ok());
  for (const auto& inventories : std::vector<std::vector<Inventory>>{
           {fixture("micro-prefill-ts17")}, {fixture("sequence"), fixture("mul")}, {hostile()}, {}}) {
    const auto problems = manifest::check_schema(to_document(inventories), *schema);
    ASSERT_TRUE(problems.ok()) << problems.error().message;
    for (const auto& problem : *problems)
      ADD_FAILURE() << problem.pointer << ": " << problem.message << " " << problem.found;
  }
}

TEST(Render, ThePageLoadsNothingAndEscapesEverything) {
  const std::string page = to_html({hostile(), fixture("micro-decode-fp16")});
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
  EXPECT_THAT(page, Not(HasSubstr("src=\"")));
  EXPECT_THAT(page, Not(HasSubstr("\x01")));
  EXPECT_THAT(page, HasSubstr("<svg"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  std::size_t scripts = 0;
  for (std::size_t at = page.find("</script>"); at != std::string::npos; at = page.find("</script>", at + 1)) ++scripts;
  EXPECT_EQ(scripts, 1u);
  EXPECT_LT(page.size(), 300u << 10);
}

TEST(Render, TheTablesQuoteWhatWouldBreakThem) {
  const std::string csv = to_csv({hostile()});
  EXPECT_THAT(csv, HasSubstr("\"'=HYPERLINK(\"\"x\"\")\""));
  const std::string markdown = to_markdown({hostile()});
  EXPECT_THAT(markdown, Not(HasSubstr("<img")));
  for (const std::string& line : {markdown}) EXPECT_THAT(line, HasSubstr("\\|"));
}

TEST(Render, TheLayerIsTheStretchThatRepeats) {
  std::vector<Node> nodes = {node("Cos", {"x"}, {"c"})};
  std::string at = "x";
  for (int i = 0; i < 5; ++i) {
    const std::string p = "l" + std::to_string(i);
    nodes.push_back(node("Relu", {at}, {p + "a"}));
    nodes.push_back(node("Mul", {p + "a", "c"}, {p + "b"}));
    nodes.push_back(node("Tanh", {p + "b"}, {p + "t"}));
    nodes.push_back(node("Add", {p + "t", at}, {p + "o"}));
    at = p + "o";
  }
  nodes.push_back(node("Exp", {at}, {"y"}));
  const auto inventory = take(model({value("x", "B,4")}, {}, nodes, {value("y", "B,4")}));
  ASSERT_EQ(inventory.layer.nodes.size(), 4u);
  EXPECT_EQ(inventory.layer.repeats, 5u);
  EXPECT_EQ(inventory.layer.nodes[0].op, "ai.onnx:Relu");
  EXPECT_THAT(inventory.layer.nodes[3].from, testing::ElementsAre(2u));
  EXPECT_THAT(inventory.layer.nodes[1].outside, testing::ElementsAre("c"));
  EXPECT_EQ(inventory.layer.nodes[0].output, "FLOAT[B, 4]");
}

TEST(Render, CandidatesOfTwoExportersAreTheSame) {
  for (const char* name : {"micro-prefill-ts17", "micro-prefill-dynamo23", "micro-decode-external"}) {
    std::map<std::string, std::uint64_t> counts;
    for (const Candidate& one : fixture(name).candidates) counts[one.pattern] = one.fused + one.spelt_out;
    EXPECT_THAT(counts,
                testing::ElementsAre(testing::Pair("RMSNorm", 5), testing::Pair("RoPE", 4), testing::Pair("SwiGLU", 2),
                                     testing::Pair("attention", 2), testing::Pair("lm_head", 1)))
        << name;
  }
}

TEST(Parameters, AreConstantFromShapesOrComputed) {
  const auto inventory =
      take(model({value("x", "B,S,4"), value("n", "1", 7)}, {numbers("axes", {1}), numbers("to", {0, -1})},
                 {node("Reshape", {"x", "to"}, {"a"}), node("Shape", {"x"}, {"s"}), node("Reshape", {"x", "s"}, {"b"}),
                  node("Unsqueeze", {"b", "axes"}, {"c"}), node("TopK", {"x", "n"}, {"d", "e"}, {attr("axis", -1l)})},
                 {value("a", "B,?"), value("c", "B,1,S,4"), value("d", "B,S,?"), value("e", "B,S,?", 7)}));
  std::map<std::string, std::vector<std::uint64_t>> found;
  for (const Parameter& one : inventory.operator_parameters)
    if (one.is_input) found[one.op + " " + one.name] = {one.constant, one.shapes, one.fed, one.computed};
  EXPECT_THAT(found["ai.onnx:Reshape shape"], testing::ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(found["ai.onnx:Unsqueeze axes"], testing::ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(found["ai.onnx:TopK K"], testing::ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(inventory.operator_parameters,
              Contains(testing::AllOf(Field(&Parameter::op, "ai.onnx:TopK"), Field(&Parameter::name, "axis"))));
}

TEST(Diff, TellsWhatWasAddedRemovedAndChanged) {
  const auto before =
      take(model({value("x", "B,4")}, {weight("w", {4, 4})}, {node("MatMul", {"x", "w"}, {"y"})}, {value("y", "B,4")}));
  const auto after =
      take(model({value("x", "B,4", 16)}, {weight("w", {4, 8}, 16)},
                 {node("MatMul", {"x", "w"}, {"t"}), node("Relu", {"t"}, {"y"})}, {value("y", "B,8", 16)}));
  EXPECT_TRUE(diff(before, before).empty());
  const auto text = to_text(diff(before, after));
  EXPECT_THAT(text, HasSubstr("~ input x: FLOAT[B, 4] -> BFLOAT16[B, 4]\n"));
  EXPECT_THAT(text, HasSubstr("+ operator ai.onnx:Relu: 1\n"));
  EXPECT_THAT(text, HasSubstr("- family ai.onnx:MatMul(FLOAT[B, 4], FLOAT[4, 4]) -> FLOAT[B, 4]: 1\n"));
  EXPECT_THAT(text, HasSubstr("~ weight w: FLOAT[4, 4] -> BFLOAT16[4, 8]\n"));
}

}  // namespace
}  // namespace calkit::inventory::test
