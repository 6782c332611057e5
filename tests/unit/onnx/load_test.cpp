#include <fstream>
#include <iterator>

#include "helpers.h"

namespace calkit::onnx::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string error_of(const std::filesystem::path& path) {
  const auto model = load(path);
  return model.ok() ? "" : model.error().message;
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Result<Model> load_text(const std::string& bytes) {
  return load_bytes(std::as_bytes(std::span(bytes)), "memory.onnx", ".");
}

TEST(OnnxLoad, ReadsBf16FromRawDataAndFromInt32Data) {
  const auto model = load(onnx_case("O01/bf16.onnx"));
  ASSERT_TRUE(model.ok()) << model.error().message;
  ASSERT_EQ(model->graph.initializers.size(), 2u);
  for (const Initializer& tensor : model->graph.initializers) {
    EXPECT_EQ(tensor.bytes, 12u);
    ASSERT_TRUE(tensor.data) << tensor.name;
    const auto values = to_floats(*tensor.data);
    ASSERT_TRUE(values.ok());
    EXPECT_THAT(*values, ElementsAre(0.25f, -0.5f, 1.0f, 2.0f, 3.140625f, -65280.0f));
  }
}

TEST(OnnxLoad, KeepsSubgraphsWithTheirNodes) {
  const auto model = load(onnx_case("O02/subgraphs.onnx"));
  ASSERT_TRUE(model.ok()) << model.error().message;
  std::size_t subgraphs = 0;
  for (const Node& node : model->graph.nodes)
    for (const Attribute& attribute : node.attributes) subgraphs += attribute.graphs.size();
  EXPECT_EQ(subgraphs, 3u);
}

TEST(OnnxLoad, NamesTheNodeThatStandsTooEarlyAndItsInput) {
  const std::string error = error_of(onnx_case("O03/unsorted.onnx"));
  EXPECT_THAT(error, HasSubstr("'late'"));
  EXPECT_THAT(error, HasSubstr("'m'"));
}

TEST(OnnxLoad, NamesTheNodesOfACycle) {
  const std::string error = error_of(onnx_case("O03/cycle.onnx"));
  EXPECT_THAT(error, HasSubstr("'n0'"));
  EXPECT_THAT(error, HasSubstr("'n1'"));
  EXPECT_THAT(error, HasSubstr("cycle"));
}

TEST(OnnxLoad, AcceptsExternalDataInItsFolder) {
  const auto model = load(onnx_case("O04/good.onnx"));
  ASSERT_TRUE(model.ok()) << model.error().message;
  const Initializer* w = model->graph.initializer("w");
  ASSERT_TRUE(w && w->data);
  EXPECT_EQ(w->data->data<float>()[0], 4.0f);
  EXPECT_EQ(w->location, "weights.bin");
  EXPECT_EQ(w->offset, 16u);
}

struct BadExternal {
  const char* file;
  const char* location;
  const char* reason;
};
class OnnxExternal : public testing::TestWithParam<BadExternal> {};
TEST_P(OnnxExternal, IsRefusedNamingTensorLocationAndReason) {
  const std::string error = error_of(onnx_case(std::string("O04/") + GetParam().file + ".onnx"));
  EXPECT_THAT(error, HasSubstr("tensor 'w'"));
  EXPECT_THAT(error, HasSubstr(GetParam().location));
  EXPECT_THAT(error, HasSubstr(GetParam().reason));
}
INSTANTIATE_TEST_SUITE_P(Cases, OnnxExternal,
                         testing::Values(BadExternal{"missing", "absent", "absent"}, BadExternal{"parent", "../", ".."},
                                         BadExternal{"absolute", "/etc", "absolute"},
                                         BadExternal{"past_end", "weights.bin", "inside the file's 80 bytes"},
                                         BadExternal{"short_length", "weights.bin", "length 32"},
                                         BadExternal{"negative", "weights.bin", "offset -16"}),
                         [](const auto& tested) { return tested.param.file; });

TEST(OnnxLoad, DoesNotFollowASymlinkOutOfTheFolder) {
  const Scratch scratch;
  std::filesystem::create_directory(scratch / "m");
  std::filesystem::copy_file(onnx_case("O04/good.onnx"), scratch / "m/good.onnx");
  std::filesystem::copy_file(onnx_case("O04/weights.bin"), scratch / "secret.bin");
  std::filesystem::create_symlink("../secret.bin", scratch / "m/weights.bin");
  EXPECT_THAT(error_of(scratch / "m/good.onnx"), HasSubstr("tensor 'w'"));
}

TEST(OnnxLoad, RefusesEveryTruncationOfAFile) {
  const std::string whole = bytes_of(onnx_case("O02/subgraphs.onnx"));
  ASSERT_TRUE(load_text(whole).ok());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto model = load_text(whole.substr(0, length));
    if (model.ok()) {  // only what ends behind the graph may still be a model
      EXPECT_GT(length, whole.size() - 16);
      continue;
    }
    EXPECT_EQ(model.error().kind, ErrorKind::kInput);
    EXPECT_THAT(model.error().message, StartsWith("memory.onnx"));
  }
}

TEST(OnnxLoad, RefusesATensorWhoseBytesDisagreeWithItsShape) {
  const Scratch scratch;
  Model model = matmul_model(counting(4, 4));
  model.graph.initializers[0].dims = {4, 5};
  ASSERT_TRUE(save(model, scratch / "m.onnx", {}).ok());
  EXPECT_THAT(error_of(scratch / "m.onnx"), HasSubstr("64 bytes of raw_data"));
}

TEST(OnnxLoad, AllocatesNothingForAShapeWithoutBytes) {
  const Scratch scratch;
  Model model = matmul_model(counting(1, 1));
  model.graph.initializers[0].dims = {1 << 20, 1 << 20};
  ASSERT_TRUE(save(model, scratch / "m.onnx", {}).ok());
  EXPECT_THAT(error_of(scratch / "m.onnx"), HasSubstr("tensor 'w'"));
  model.graph.initializers[0].dims = {INT64_MAX, INT64_MAX};
  ASSERT_TRUE(save(model, scratch / "m.onnx", {}).ok());
  EXPECT_THAT(error_of(scratch / "m.onnx"), HasSubstr("dims"));
}

TEST(OnnxLoad, LeavesWeightsAloneWhenNobodyAsksForThem) {
  const Scratch scratch;
  Model model = matmul_model(counting(4, 400));
  ASSERT_TRUE(save(model, scratch / "m.onnx", {}).ok());
  const auto light = load(scratch / "m.onnx", {.tensor_data = false});
  ASSERT_TRUE(light.ok()) << light.error().message;
  EXPECT_FALSE(light->graph.initializers[0].data);
  EXPECT_EQ(light->graph.initializers[0].bytes, 6400u);
}

TEST(OnnxLoad, RefusesAFileThatIsNoModel) {
  EXPECT_FALSE(load_text("").ok());
  EXPECT_FALSE(load_text("version https://git-lfs.github.com/spec/v1\n").ok());
  EXPECT_FALSE(load_text(std::string(1000, '\0')).ok());
  EXPECT_EQ(load(onnx_case("O01")).error().kind, ErrorKind::kInput);
}

TEST(OnnxLoad, ReadsFilesOfOtherExporters) {
  for (const char* name : {"micro-prefill-ts17", "micro-prefill-dynamo23", "micro-decode-external", "micro-decode-fp16",
                           "sequence", "mul"}) {
    const auto model = load(data(std::string("onnx/") + name + "/model.onnx"));
    EXPECT_TRUE(model.ok()) << name << ": " << model.error().message;
  }
}

}  // namespace
}  // namespace calkit::onnx::test
