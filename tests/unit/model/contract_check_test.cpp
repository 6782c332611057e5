// The contract check on graphs of other exporters, on our own, and on ports made by hand.
#include "calkit/model/contract_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "calkit/base/files.h"
#include "calkit/model/graph.h"
#include "calkit/onnx/io.h"

namespace calkit::model {
namespace {

namespace fs = std::filesystem;
using onnx::Dim;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr onnx::ElementType kFloat = 1, kInt64 = 7;

fs::path data(const std::string& relative) {
  return fs::path(CALKIT_TEST_DATA) / relative;
}

class ContractCheckTest : public testing::Test {
 protected:
  ContractCheckTest() : folder_(fs::path(testing::TempDir()) / ("contract_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~ContractCheckTest() override { fs::remove_all(folder_); }

  ContractCheck check(const fs::path& graph, const ContractWish& wish = {}) {
    auto out = check_contract(graph, wish);
    EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().message);
    return out.ok() ? *out : ContractCheck{};
  }
  /// A graph of these ports alone, each output made from the first input.
  ContractCheck check(std::vector<onnx::ValueInfo> inputs, std::vector<onnx::ValueInfo> outputs,
                      const ContractWish& wish = {}) {
    onnx::Model model;
    model.ir_version = 8;
    model.opsets[""] = 17;
    model.graph.name = "ports";
    for (const auto& output : outputs) {
      onnx::Node node;
      node.op_type = "Cast";
      node.inputs = {inputs.front().name};
      node.outputs = {output.name};
      node.attributes = {onnx::attr("to", std::int64_t{kFloat})};
      model.graph.nodes.push_back(node);
    }
    model.graph.inputs = std::move(inputs);
    model.graph.outputs = std::move(outputs);
    EXPECT_TRUE(onnx::save(model, folder_ / "ports.onnx", {}).ok());
    return check(folder_ / "ports.onnx", wish);
  }

  fs::path folder_;
};

std::vector<std::string> errors(const ContractCheck& check) {
  std::vector<std::string> out;
  for (const auto& finding : check.findings)
    if (finding.error) out.push_back(finding.item + ": " + finding.found);
  return out;
}

std::vector<Dim> shape(std::vector<std::variant<std::int64_t, const char*>> dims) {
  std::vector<Dim> out;
  for (const auto& dim : dims) {
    if (const auto* number = std::get_if<std::int64_t>(&dim))
      out.push_back(Dim::of(*number));
    else
      out.push_back(Dim::symbol(std::get<const char*>(dim)));
  }
  return out;
}

std::vector<onnx::ValueInfo> prefill_inputs() {
  return {{"input_ids", kInt64, shape({"b", "s"})},
          {"attention_mask", kInt64, shape({"b", "s"})},
          {"position_ids", kInt64, shape({"b", "s"})}};
}
std::vector<onnx::ValueInfo> prefill_outputs() {
  return {{"logits", kFloat, shape({"b", 1, 512})},
          {"present.0.key", kFloat, shape({"b", 2, "s", 8})},
          {"present.0.value", kFloat, shape({"b", 2, "s", 8})}};
}
std::vector<onnx::ValueInfo> decode_inputs() {
  return {{"input_ids", kInt64, shape({"b", 1})},
          {"position_ids", kInt64, shape({"b", 1})},
          {"past_key_values.0.key", kFloat, shape({"b", 2, "p", 8})},
          {"past_key_values.0.value", kFloat, shape({"b", 2, "p", 8})}};
}
std::vector<onnx::ValueInfo> decode_outputs() {
  return {{"logits", kFloat, shape({"b", 1, 512})},
          {"present.0.key", kFloat, shape({"b", 2, "p + 1", 8})},
          {"present.0.value", kFloat, shape({"b", 2, "p + 1", 8})}};
}

TEST_F(ContractCheckTest, GraphsOfOtherExporters) {
  const auto dynamo = check(data("onnx/micro-prefill-dynamo23/model.onnx"));
  EXPECT_EQ(dynamo.phase, GraphPhase::kPrefill);
  EXPECT_EQ(dynamo.batch, "batch");
  EXPECT_EQ(dynamo.tokens, "seq");
  EXPECT_THAT(errors(dynamo), IsEmpty());

  const auto decode = check(data("onnx/micro-decode-external/model.onnx"));
  EXPECT_EQ(decode.phase, GraphPhase::kDecode);
  EXPECT_EQ(decode.past, "s15");
  EXPECT_THAT(errors(decode), IsEmpty());
  std::vector<std::string> roles;
  for (const Port& port : decode.inputs) roles.push_back(std::string(role_name(port.role)));
  EXPECT_THAT(roles,
              UnorderedElementsAre("tokens", "mask", "positions", "past key", "past value", "past key", "past value"));
}

TEST_F(ContractCheckTest, OurOwnGraphsKeepIt) {
  for (const char* name : {"tiny-dense", "qwen3moe-e8k2"}) {
    const auto made = export_onnx(data("models") / name, folder_ / name, DType::kF32);
    ASSERT_TRUE(made.ok()) << made.error().message;
    const auto prefill = check(made->prefill_path, {GraphPhase::kPrefill, {}});
    EXPECT_THAT(errors(prefill), IsEmpty());
    const auto decode = check(made->decode_path, {GraphPhase::kDecode, {}});
    EXPECT_THAT(errors(decode), IsEmpty());
    EXPECT_EQ(decode.past, "P");
  }
}

TEST_F(ContractCheckTest, AWholeGraphPasses) {
  EXPECT_THAT(errors(check(prefill_inputs(), prefill_outputs())), IsEmpty());
  EXPECT_THAT(errors(check(decode_inputs(), decode_outputs())), IsEmpty());
}

TEST_F(ContractCheckTest, AnAxisThatMustVaryIsNoNumber) {
  const auto stated_zero = check(data("cases/onnx-inventory/O06/zero_and_fixed.onnx"));
  EXPECT_FALSE(stated_zero.passed());
  EXPECT_THAT(errors(stated_zero), Contains(HasSubstr("S: ids[1] is the number 0")));

  auto inputs = decode_inputs();
  inputs[2].shape = shape({"b", 2, 512, 8});
  inputs[3].shape = shape({"b", 2, 512, 8});
  EXPECT_THAT(errors(check(inputs, decode_outputs())),
              testing::ElementsAre("P: past_key_values.0.key[2] is the number 512"));
  EXPECT_THAT(errors(check(inputs, decode_outputs(), {{}, {"P"}})), IsEmpty());

  auto outputs = prefill_outputs();
  outputs[1].shape = shape({"b", 2, 512, 8});
  EXPECT_THAT(errors(check(prefill_inputs(), outputs)), testing::ElementsAre(HasSubstr("present key: present.0.key")));
}

TEST_F(ContractCheckTest, NamesWhatIsMissing) {
  struct Missing {
    const char* what;
    std::vector<onnx::ValueInfo> inputs, outputs;
    const char* error;
  };
  const auto without = [](std::vector<onnx::ValueInfo> values, const char* name) {
    std::erase_if(values, [&](const auto& value) { return value.name == name; });
    return values;
  };
  const Missing cases[] = {
      {"tokens", without(prefill_inputs(), "input_ids"), prefill_outputs(), "tokens: no input of token ids"},
      {"positions", without(prefill_inputs(), "position_ids"), prefill_outputs(), "positions: no input"},
      {"mask", without(prefill_inputs(), "attention_mask"), prefill_outputs(), "valid tokens: neither a mask"},
      {"logits", prefill_inputs(), without(prefill_outputs(), "logits"), "logits: no output"},
      {"value", prefill_inputs(), without(prefill_outputs(), "present.0.value"), "present value: none of layer 0"},
      {"past half", without(decode_inputs(), "past_key_values.0.value"), decode_outputs(),
       "past value: none of layer 0"},
      {"present half", decode_inputs(), without(decode_outputs(), "present.0.key"), "present key: none of layer 0"},
  };
  for (const auto& one : cases)
    EXPECT_THAT(errors(check(one.inputs, one.outputs)), Contains(HasSubstr(one.error))) << one.what;
}

TEST_F(ContractCheckTest, LogitsOfAllTokensAreToldFromTheLast) {
  auto outputs = prefill_outputs();
  outputs[0].shape = shape({"b", "s", 512});
  EXPECT_THAT(errors(check(prefill_inputs(), outputs)), testing::ElementsAre(HasSubstr("logits: logits: FLOAT [b, s")));
  outputs[0].shape = shape({"b", 512});
  EXPECT_THAT(errors(check(prefill_inputs(), outputs)), IsEmpty());
}

TEST_F(ContractCheckTest, OddCaches) {
  auto inputs = decode_inputs();
  inputs[2].shape = shape({"b", "p", 2, 8});
  EXPECT_THAT(errors(check(inputs, decode_outputs())), Contains(HasSubstr("past key: past_key_values.0.key")));

  inputs = decode_inputs();
  inputs[2].type = inputs[3].type = 10;
  EXPECT_THAT(errors(check(inputs, decode_outputs())), testing::ElementsAre(HasSubstr("cache type")));

  inputs = decode_inputs();
  inputs.push_back({"temperature", kFloat, shape({1})});
  EXPECT_THAT(errors(check(inputs, decode_outputs())), testing::ElementsAre("inputs: temperature: FLOAT [1]"));

  inputs = decode_inputs();
  inputs.push_back({"past_key_values.2.key", kFloat, shape({"b", 2, "p", 8})});
  inputs.push_back({"past_key_values.2.value", kFloat, shape({"b", 2, "p", 8})});
  EXPECT_THAT(errors(check(inputs, decode_outputs())),
              UnorderedElementsAre("layers: layer 2 after layer 0", "present keys and values: none of layer 2"));
}

TEST_F(ContractCheckTest, TheWantedPhaseIsAsked) {
  EXPECT_THAT(errors(check(prefill_inputs(), prefill_outputs(), {GraphPhase::kDecode, {}})),
              Contains("phase: prefill"));
  EXPECT_THAT(errors(check(decode_inputs(), decode_outputs(), {GraphPhase::kPrefill, {}})), Contains("phase: decode"));
}

}  // namespace
}  // namespace calkit::model
