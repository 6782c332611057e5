#include "calkit/inventory/inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calkit/base/document.h"

namespace calkit::inventory {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

std::filesystem::path data(const std::string& relative) {
  return std::filesystem::path(CALKIT_TEST_DATA) / relative;
}

Inventory take(const std::string& relative) {
  auto out = take_inventory(data(relative));
  EXPECT_TRUE(out.ok()) << relative << ": " << (out.ok() ? "" : out.error().message);
  return out.ok() ? *out : Inventory{};
}
Inventory take_case(const std::string& name) {
  return take("cases/onnx-inventory/" + name);
}

std::vector<std::string> errors(const Inventory& inventory) {
  std::vector<std::string> out;
  for (const Finding& finding : inventory.findings)
    if (finding.severity == Finding::Severity::kError) out.push_back(finding.text);
  return out;
}

TEST(Inventory, CountsNodesOfAllLevelsAndTellsTheLevel) {
  const Inventory inventory = take_case("O02/subgraphs.onnx");
  EXPECT_EQ(inventory.nodes, 9u);
  EXPECT_THAT(inventory.op_counts,
              ElementsAre(Pair("ai.onnx:Identity", 1), Pair("ai.onnx:If", 1), Pair("ai.onnx:Loop", 1),
                          Pair("ai.onnx:MatMul", 3), Pair("ai.onnx:Relu", 2), Pair("ai.onnx:Sigmoid", 1)));
  std::vector<std::string> paths;
  for (const Level& level : inventory.levels) paths.push_back(level.path);
  EXPECT_THAT(paths, UnorderedElementsAre("main", "main/If:then_branch", "main/If:else_branch", "main/Loop:body"));
  EXPECT_THAT(inventory.levels.front().op_counts, ElementsAre(Pair("ai.onnx:If", 1), Pair("ai.onnx:Loop", 1)));
}

TEST(Inventory, AgreesWithThePythonPackageOnFilesOfOtherExporters) {
  const auto expected = read_json(data("onnx/op_counts.json"));
  ASSERT_TRUE(expected.ok());
  ASSERT_EQ(expected->if_object()->size(), 6u);
  for (const auto& [name, counts] : *expected->if_object()) {
    const Inventory inventory = take("onnx/" + name + "/model.onnx");
    EXPECT_EQ(*to_document({inventory}).find("op_counts"), counts) << name;
    EXPECT_THAT(errors(inventory), IsEmpty()) << name;
  }
}

TEST(Inventory, BothFormsOfABf16TensorCountTheirBytes) {
  const Inventory inventory = take_case("O01/bf16.onnx");
  EXPECT_EQ(inventory.weights.count, 2u);
  EXPECT_EQ(inventory.weights.bytes, 24u);
  EXPECT_EQ(inventory.weights_by_type.at("BFLOAT16").count, 2u);
}

TEST(Inventory, UnsortedNodesAndCyclesAreErrors) {
  EXPECT_THAT(errors(take_case("O03/unsorted.onnx")),
              ElementsAre(testing::AllOf(HasSubstr("'late'"), HasSubstr("'m'"))));
  EXPECT_THAT(errors(take_case("O03/cycle.onnx")), ElementsAre(testing::AllOf(HasSubstr("'n0'"), HasSubstr("'n1'"))));
}

TEST(Inventory, ExternalDataIsCheckedWithoutBeingRead) {
  const Inventory good = take_case("O04/good.onnx");
  EXPECT_TRUE(good.passed());
  EXPECT_EQ(good.external_files.at("weights.bin").count, 1u);
  for (const char* bad : {"missing", "parent", "absolute", "past_end", "short_length", "negative"}) {
    const Inventory inventory = take_case(std::string("O04/") + bad + ".onnx");
    EXPECT_THAT(errors(inventory), ElementsAre(HasSubstr("tensor 'w'"))) << bad;
  }
}

TEST(Inventory, WeightsListedAsInputsAreNotFed) {
  for (const char* file : {"O05/ir3.onnx", "O05/ir8.onnx"}) {
    const Inventory inventory = take_case(file);
    ASSERT_EQ(inventory.inputs.size(), 1u);
    EXPECT_EQ(inventory.inputs[0].name, "x");
    EXPECT_THAT(inventory.parameters, ElementsAre("w", "b"));
    EXPECT_TRUE(inventory.passed());
  }
  EXPECT_THAT(take_case("O05/ir3.onnx").overridable, IsEmpty());
  EXPECT_THAT(take_case("O05/ir3.onnx").findings, IsEmpty());
  EXPECT_THAT(take_case("O05/ir8.onnx").overridable, ElementsAre("w", "b"));
  EXPECT_EQ(take_case("O05/ir8.onnx").findings.size(), 1u);
}

TEST(Inventory, AxesAreSymbolsNumbersOrUnknown) {
  const Inventory dynamic = take_case("O06/dynamic.onnx");
  EXPECT_THAT(dynamic.symbols.at("batch"), ElementsAre("ids[0]", "past[0]"));
  const Value document = to_value(dynamic);
  const auto shape = [&](const char* list, std::size_t index) {
    return to_json(*(*document.find(list)->if_array())[index].find("shape"), {.indent = -1});
  };
  EXPECT_EQ(shape("inputs", 0), R"(["batch","seq"])");
  EXPECT_EQ(shape("inputs", 1), R"(["batch",2,"past",8])");
  EXPECT_EQ(shape("outputs", 0), "[1,null,4]");
}

TEST(Inventory, AStatedZeroIsANumberAndANote) {
  const Inventory inventory = take_case("O06/zero_and_fixed.onnx");
  ASSERT_FALSE(inventory.inputs.empty());
  EXPECT_EQ(inventory.inputs[0].shape->at(1).text(), "0");
  bool noted = false;
  for (const Finding& finding : inventory.findings) noted |= finding.text.find("is stated as 0") != std::string::npos;
  EXPECT_TRUE(noted);
}

TEST(Inventory, ProducersAndConsumersAreCountedPerOperator) {
  const Inventory inventory = take("onnx/mul/model.onnx");
  EXPECT_THAT(inventory.edges, UnorderedElementsAre(Pair(Pair("(input)", "ai.onnx:Mul"), 1),
                                                    Pair(Pair("(initializer)", "ai.onnx:Mul"), 1),
                                                    Pair(Pair("ai.onnx:Mul", "(output)"), 1)));
  EXPECT_EQ(inventory.weights_by_consumer.at("ai.onnx:Mul").bytes, 24u);
  ASSERT_EQ(inventory.families.size(), 1u);
  EXPECT_THAT(inventory.families[0].inputs, ElementsAre("FLOAT[3, 2]", "FLOAT[3, 2]"));
}

TEST(Inventory, TheTextNamesWhatTheDocumentHolds) {
  const std::string text = to_text(take_case("O02/subgraphs.onnx"));
  EXPECT_THAT(text, HasSubstr("main/Loop:body"));
  EXPECT_THAT(text, HasSubstr("ai.onnx:MatMul"));
}

}  // namespace
}  // namespace calkit::inventory
