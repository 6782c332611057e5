#include "calkit/base/files.h"
#include "calkit/base/hash.h"
#include "helpers.h"

namespace calkit::onnx::test {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

std::string digest(const std::filesystem::path& path) {
  const auto found = hash_file(path);
  return found.ok() ? found->sha256 : found.error().message;
}

TEST(OnnxSave, WhatIsSavedIsLoadedAgain) {
  const Scratch scratch;
  Model model = matmul_model(counting(4, 4));
  model.graph.nodes[0].attributes = {attr("i", std::int64_t{-3}), attr("f", 0.5f), attr("s", std::string("text")),
                                     attr("l", std::vector<std::int64_t>{1, -1})};
  ASSERT_TRUE(save(model, scratch / "m.onnx", {}).ok());
  const auto back = load(scratch / "m.onnx");
  ASSERT_TRUE(back.ok()) << back.error().message;
  const Node& node = back->graph.nodes.at(0);
  EXPECT_EQ(node.int_or("i", 0), -3);
  EXPECT_EQ(node.float_or("f", 0), 0.5f);
  EXPECT_EQ(node.attribute("s")->s, "text");
  EXPECT_THAT(node.attribute("l")->ints, testing::ElementsAre(1, -1));
  EXPECT_EQ(back->opsets.at(""), 23);
  EXPECT_EQ(back->graph.inputs[0].shape->at(0).text(), "N");
  EXPECT_THAT(back->graph.initializers[0].data->data<float>(), ElementsAreArray(counting(4, 4).data<float>()));
}

TEST(OnnxSave, ExternalTensorsStartAtPagesAndAreChecked) {
  const Scratch scratch;
  Model model = matmul_model(counting(4, 4));
  model.graph.initializers.push_back(weight("v", counting(4, 4)));
  SaveOptions options;
  options.external_from = 16;
  options.external_name = "weights.bin";
  std::vector<std::string> written;
  options.written = [&](const Initializer& tensor) { written.push_back(tensor.name); };
  ASSERT_TRUE(save(model, scratch / "m.onnx", options).ok());
  EXPECT_THAT(written, testing::ElementsAre("w", "v"));
  EXPECT_EQ(std::filesystem::file_size(scratch / "weights.bin"), 4096u + 64u);
  const auto back = load(scratch / "m.onnx");
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->graph.initializers[1].offset, 4096u);
  EXPECT_THAT(back->graph.initializers[1].data->data<float>(), ElementsAreArray(counting(4, 4).data<float>()));
  const Status checked = check_file(scratch / "m.onnx", true);
  EXPECT_TRUE(checked.ok()) << checked.error().message;
}

TEST(OnnxSave, ASecondGraphRefersToTheWeightsOfTheFirst) {
  const Scratch scratch;
  const Model model = matmul_model(counting(4, 4));
  std::map<std::string, ExternalRange> shared;
  SaveOptions options;
  options.external_from = 16;
  options.external_name = "weights.bin";
  options.shared = &shared;
  ASSERT_TRUE(save(model, scratch / "a.onnx", options).ok());
  const std::string before = digest(scratch / "weights.bin");
  ASSERT_TRUE(save(model, scratch / "b.onnx", options).ok());
  EXPECT_EQ(digest(scratch / "weights.bin"), before);
  EXPECT_EQ(digest(scratch / "a.onnx"), digest(scratch / "b.onnx"));
  EXPECT_TRUE(load(scratch / "b.onnx").ok());
}

TEST(OnnxSave, WidensATensorWhoseDataIsNarrowerThanItsType) {
  const Scratch scratch;
  Model model = matmul_model(counting(4, 4));
  model.graph.initializers[0].data = *convert(counting(4, 4), DType::kBF16);
  SaveOptions options;
  options.external_from = 16;
  options.external_name = "weights.bin";
  ASSERT_TRUE(save(model, scratch / "m.onnx", options).ok());
  const auto back = load(scratch / "m.onnx");
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_THAT(back->graph.initializers[0].data->data<float>(), ElementsAreArray(counting(4, 4).data<float>()));
}

TEST(OnnxSave, ATensorWithoutDataIsNotWritten) {
  const Scratch scratch;
  Model model = matmul_model(counting(4, 4));
  model.graph.initializers[0].data.reset();
  const Status status = save(model, scratch / "m.onnx", {});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("'w'"));
  EXPECT_FALSE(std::filesystem::exists(scratch / "m.onnx"));
}

TEST(OnnxCheck, TheCheckerRefusesAnUnknownOperator) {
  const Scratch scratch;
  Model model = matmul_model(counting(4, 4));
  model.graph.nodes[0].op_type = "NoSuchOperator";
  ASSERT_TRUE(save(model, scratch / "m.onnx", {}).ok());
  const Status status = check_file(scratch / "m.onnx", true);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("NoSuchOperator"));
}

TEST(OnnxInfer, FillsShapesAndKeepsSymbols) {
  Model model = matmul_model(counting(4, 4));
  model.graph.nodes = {node("mm", "MatMul", {"x", "w"}, {"m"}), node("r", "Relu", {"m"}, {"y"})};
  const auto inferred = infer_shapes(model);
  ASSERT_TRUE(inferred.ok()) << inferred.error().message;
  ASSERT_EQ(inferred->graph.value_info.size(), 1u);
  EXPECT_EQ(inferred->graph.value_info[0].name, "m");
  EXPECT_EQ(inferred->graph.value_info[0].shape->at(0).text(), "N");
  EXPECT_EQ(inferred->graph.value_info[0].shape->at(1).text(), "4");
}

TEST(OnnxOutline, TellsEveryProblemAndStillReadsTheGraph) {
  const auto broken = load_outline(onnx_case("O04/past_end.onnx"));
  ASSERT_TRUE(broken.ok()) << broken.error().message;
  EXPECT_THAT(broken->problems, testing::ElementsAre(HasSubstr("weights.bin")));
  EXPECT_FALSE(broken->model.graph.nodes.empty());
  const auto unsorted = load_outline(onnx_case("O03/unsorted.onnx"));
  ASSERT_TRUE(unsorted.ok());
  EXPECT_THAT(unsorted->problems, testing::ElementsAre(HasSubstr("'late'")));
}

TEST(OnnxOutline, ANodeThatItsSchemaRefusesStopsTheInferenceNotTheProcess) {
  const Scratch scratch;
  Model model = matmul_model(counting(4, 4));
  model.graph.nodes[0].op_type = "Loop";  // upstream's inference asserts that it has two inputs and a body
  model.graph.nodes[0].inputs = {"x"};
  ASSERT_TRUE(save(model, scratch / "m.onnx", {}).ok());
  const auto outline = load_outline(scratch / "m.onnx");
  ASSERT_TRUE(outline.ok()) << outline.error().message;
  EXPECT_THAT(outline->problems, testing::ElementsAre(HasSubstr("Loop")));
  EXPECT_THAT(outline->inference_note, HasSubstr("not valid"));
  EXPECT_EQ(outline->model.graph.nodes.size(), 1u);
}

TEST(OnnxTypes, PackedSizesRoundUp) {
  EXPECT_EQ(packed_bytes(22, 7), 4u);  // INT4
  EXPECT_EQ(packed_bytes(26, 5), 2u);  // INT2
  EXPECT_EQ(packed_bytes(16, 3), 6u);  // BFLOAT16
  EXPECT_EQ(packed_bytes(8, 3), 0u);   // STRING
  EXPECT_EQ(element_type_name(16), "BFLOAT16");
  EXPECT_EQ(element_type_name(99), "TYPE_99");
  EXPECT_EQ(from_dtype(DType::kI64), 7);
  EXPECT_EQ(Dim{}.text(), "?");
}

}  // namespace
}  // namespace calkit::onnx::test
