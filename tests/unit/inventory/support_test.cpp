#include "build.h"
#include "calkit/base/document.h"
#include "calkit/base/files.h"
#include "calkit/manifest/check.h"
#include "scratch_dir.h"

namespace calkit::inventory::test {
namespace {

using onnx::attr;
using testing::HasSubstr;
using State = Support::State;

using testing_support::ScratchDir;

manifest::OpSupport matrix(const std::string& rows) {
  const ScratchDir folder;
  const auto path = folder / "matrix.yaml";
  EXPECT_TRUE(
      write_file(path, "schema: calkit.op-support/1\ntarget: t\ndevice_version: \"1\"\nrevision: 1\nrows:\n" + rows)
          .ok());
  auto out = manifest::read_op_support(path);
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().message);
  return out.ok() ? *out : manifest::OpSupport{};
}

std::string row(const std::string& op, const std::string& more, const std::string& run = "npu") {
  return "  - {ops: [\"" + op + "\"], run: " + run + ", status: C2, assumed: true, source: sure, note: noted" + more +
         "}\n";
}

Support judged(const std::string& rows, const Node& one, const onnx::ValueInfo& input = value("x", "B,S,64"),
               std::vector<onnx::Initializer> weights = {}) {
  const auto table = matrix(rows);
  const auto inventory =
      take(model({input}, std::move(weights), {one}, {value("y", "B,S,64")}), {.support = &table, .at = {}});
  return inventory.families.empty() ? Support{} : inventory.families.front().support;
}

TEST(OpSupport, WhatNoRowCoversIsUnsupported) {
  const auto verdict = judged(row("ai.onnx:Relu", ""), node("Tanh", {"x"}, {"y"}));
  EXPECT_EQ(verdict.state, State::kUnsupported);
  EXPECT_THAT(verdict.reason, HasSubstr("ai.onnx:Tanh"));
  EXPECT_EQ(judged(row("ai.onnx:Relu", ""), node("my:Relu", {"x"}, {"y"})).state, State::kUnsupported);
}

TEST(OpSupport, TheFirstRowThatFitsDecides) {
  const std::string rows = row("ai.onnx:Relu", ", types: [BFLOAT16]") + row("ai.onnx:Relu", ", types: [FLOAT]", "cpu") +
                           row("ai.onnx:Relu", "", "needs-kernel");
  EXPECT_EQ(judged(rows, node("Relu", {"x"}, {"y"})).state, State::kCpu);
  EXPECT_EQ(judged(rows, node("Relu", {"x"}, {"y"}), value("x", "B,S,64", 11)).state, State::kNeedsKernel);
}

TEST(OpSupport, ConditionsHoldOnlyForWhatIsKnown) {
  const Node relu = node("Relu", {"x"}, {"y"});
  const auto one = [&](const std::string& condition, const std::string& dims = "B,S,64") {
    return judged(row("ai.onnx:Relu", ", where: [{input: 0, " + condition + "}]"), relu, value("x", dims)).state ==
           State::kNpu;
  };
  EXPECT_TRUE(one("min_rank: 3, max_rank: 3"));
  EXPECT_FALSE(one("max_rank: 2"));
  EXPECT_TRUE(one("axis: -1, multiple_of: 16"));
  EXPECT_FALSE(one("axis: 1, multiple_of: 16"));  // S may be anything
  EXPECT_TRUE(one("axis: 1, multiple_of: 16", "B,16*S,64"));
  EXPECT_TRUE(one("axis: -1, max: 64, min: 64"));
  EXPECT_FALSE(one("axis: 1, max: 4096"));
  EXPECT_FALSE(one("axis: 7, max: 4096"));
  EXPECT_FALSE(one("axis: -1, one_of: [128]"));
  EXPECT_FALSE(one("static: true"));
  EXPECT_TRUE(one("static: true", "2,3,64"));
  EXPECT_FALSE(one("axis: 0, static: true", "?,3,64"));
  EXPECT_FALSE(one("constant: true"));
  EXPECT_TRUE(one("constant: false"));
  EXPECT_FALSE(one("types: [INT8]"));
}

TEST(OpSupport, ConditionsOnAttributesAndAbsentInputs) {
  const auto one = [&](const std::string& condition, const Node& asked) {
    return judged(row("ai.onnx:Softmax", ", where: [{" + condition + "}]"), asked).state == State::kNpu;
  };
  const Node last = node("Softmax", {"x"}, {"y"}, {attr("axis", -1l)}), bare = node("Softmax", {"x"}, {"y"});
  EXPECT_TRUE(one("attribute: axis, one_of: [-1]", last));
  EXPECT_FALSE(one("attribute: axis, one_of: [0]", last));
  EXPECT_FALSE(one("attribute: axis, one_of: [-1]", bare));
  EXPECT_TRUE(one("attribute: axis, one_of: [-1], or_absent: true", bare));
  EXPECT_TRUE(one("attribute: axis, present: false", bare));
  EXPECT_FALSE(one("attribute: axis, present: false", last));
  EXPECT_TRUE(one("input: 3, present: false", bare));
  EXPECT_FALSE(one("input: 0, present: false", bare));
}

TEST(OpSupport, ConstantnessToldPerNode) {
  const std::string rows =
      row("ai.onnx:MatMul", ", where: [{input: 1, constant: true}]") + row("ai.onnx:MatMul", "", "needs-kernel");
  const auto table = matrix(rows);
  const auto inventory = take(model({value("x", "4,4"), value("z", "4,4")}, {weight("w", {4, 4})},
                                    {node("MatMul", {"x", "w"}, {"a"}), node("MatMul", {"x", "z"}, {"y"})},
                                    {value("y", "4,4"), value("a", "4,4")}),
                              {.support = &table, .at = {}, .fail_on = State::kNeedsKernel});
  ASSERT_EQ(inventory.families.size(), 2u);  // equal types and shapes, different verdicts
  ASSERT_EQ(inventory.kernels.size(), 1u);
  EXPECT_EQ(inventory.kernels[0].nodes, 1u);
  EXPECT_EQ(inventory.kernels[0].node_share, 0.5);
  EXPECT_FALSE(inventory.passed());
}

TEST(OpSupport, RanksByFlopsThenBytes) {
  const auto table = matrix(row("ai.onnx:Relu", ""));
  const auto inventory = take(model({value("x", "B,64")}, {weight("w", {64, 64})},
                                    {node("Relu", {"x"}, {"a"}), node("MatMul", {"a", "w"}, {"b"}),
                                     node("Tanh", {"b"}, {"c"}), node("Transpose", {"c"}, {"y"})},
                                    {value("y", "64,B")}),
                              {.support = &table, .at = {{"B", 4}}});
  std::vector<std::string> names;
  for (const Kernel& kernel : inventory.kernels) names.push_back(kernel.name);
  EXPECT_THAT(names,
              testing::ElementsAre("ai.onnx:MatMul (FLOAT)", "ai.onnx:Tanh (FLOAT)", "ai.onnx:Transpose (FLOAT)"));
  EXPECT_NEAR(inventory.kernels[0].flop_share, 8192.0 / (8192 + 128), 1e-12);
  EXPECT_NEAR(inventory.kernels[0].nodes_so_far, 0.5, 1e-12);
  EXPECT_NEAR(inventory.kernels.back().flops_so_far, 1, 1e-12);
  EXPECT_NEAR(inventory.kernels.back().bytes_so_far, 1, 1e-12);
}

TEST(OpSupport, TheBuiltInMatricesKeepTheirPromises) {
  const auto emulated = manifest::built_in_op_support("emulated"),
             assumed = manifest::built_in_op_support("calculet-assumed");
  ASSERT_TRUE(emulated.ok() && assumed.ok());
  for (const auto& entry : (*assumed)->rows) {
    EXPECT_TRUE(entry.assumed) << entry.note;  // the vendor has stated nothing
    EXPECT_EQ(entry.status, "C3") << entry.note;
  }
  EXPECT_EQ(manifest::built_in_op_support("x").error().kind, ErrorKind::kUsage);
}

TEST(OpSupport, OurOwnExportRunsOnTheEmulatedDevice) {
  const auto inventory = take_inventory(data("onnx/micro-prefill-dynamo23/model.onnx"));
  ASSERT_TRUE(inventory.ok());
  for (const Kernel& kernel : inventory->kernels) EXPECT_FALSE(kernel.reason.empty()) << kernel.name;
}

TEST(OpSupport, BrokenMatricesAreRefusedWithTheirPlace) {
  const ScratchDir folder;
  const auto path = folder / "broken.yaml";
  const std::string head = "schema: calkit.op-support/1\ntarget: t\ndevice_version: \"1\"\nrevision: 1\nrows:\n";
  const std::string good = row("ai.onnx:Relu", "");
  const std::pair<std::string, const char*> cases[] = {
      {head + "  []\n", "no rows"},
      {head + row("Relu", ""), "domain:type"},
      {head + row("ai.onnx:Relu", ", types: [F32]"), "F32"},
      {head + row("ai.onnx:Relu", "", "gpu"), "npu"},
      {head + row("ai.onnx:Relu", ", colour: red"), "colour"},
      {head + row("ai.onnx:Relu", ", where: [{max_rank: 3}]"), "input"},
      {head + row("ai.onnx:Relu", ", where: [{input: 0, output: 0}]"), "one of them"},
      {head + row("ai.onnx:Relu", ", where: [{input: 0, multiple_of: 16}]"), "axis"},
      {head + row("ai.onnx:Relu", ", where: [{input: 0, min_rank: 3, max_rank: 2}]"), "bound"},
      {head + row("ai.onnx:Relu", ", where: [{attribute: axis, min: 3}]"), "min"},
      {"schema: calkit.support/1\nrows: []\n", "unknown"},
  };
  for (const auto& [text, wanted] : cases) {
    ASSERT_TRUE(write_file(path, text).ok());
    const auto out = manifest::read_op_support(path);
    ASSERT_FALSE(out.ok()) << text;
    if (std::string(wanted) != "unknown") {
      EXPECT_THAT(out.error().message, HasSubstr(wanted)) << text;
    }
    EXPECT_THAT(out.error().message, HasSubstr("broken.yaml"));
  }
  ASSERT_TRUE(write_file(path, head + good).ok());
  EXPECT_TRUE(manifest::read_op_support(path).ok());
}

TEST(OpSupport, TheSchemaAcceptsTheBuiltInMatrices) {
  for (const char* name : {"ops-emulated", "ops-calculet-assumed"}) {
    const auto check = manifest::check_manifest(std::string(CALKIT_SOURCE_DIR "/manifests/support/") + name + ".yaml");
    ASSERT_TRUE(check.ok());
    EXPECT_TRUE(check->problems.empty()) << name << check->problems.front().pointer << check->problems.front().message;
  }
}

}  // namespace
}  // namespace calkit::inventory::test
