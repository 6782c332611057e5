#include "calkit/model/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "calkit/base/document.h"
#include "calkit/base/files.h"
#include "calkit/base/hash.h"
#include "calkit/onnx/io.h"

namespace calkit::model {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

fs::path model_dir(const std::string& name) {
  return fs::path(CALKIT_TEST_DATA) / "models" / name;
}

class Scratch {
 public:
  Scratch() {
    static int count = 0;
    path_ = fs::path(testing::TempDir()) / ("calkit_model_" + std::to_string(getpid()) + "_" + std::to_string(count++));
    fs::create_directories(path_);
  }
  ~Scratch() { fs::remove_all(path_); }
  fs::path operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

struct Loaded {
  hf::ModelSpec spec;
  hf::Checkpoint weights;
};
Loaded open(const std::string& name) {
  auto spec = hf::read_spec(model_dir(name));
  auto weights = hf::Checkpoint::open(model_dir(name));
  if (!spec.ok() || !weights.ok()) ADD_FAILURE() << (spec.ok() ? weights.error() : spec.error()).message;
  return {std::move(*spec), std::move(*weights)};
}

class EachModel : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Families, EachModel,
                         testing::Values("tiny-dense", "llama-gqa-rope3", "llama-mha-f32-v4", "mistral-f16",
                                         "qwen2-bias-tied-v4", "qwen3-sharded-v4", "qwen3moe-e8k2",
                                         "qwen3moe-mixed-v4"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(EachModel, BothGraphsAreSoundAndNameTheProbes) {
  const Loaded loaded = open(GetParam());
  for (const Phase phase : {Phase::kPrefill, Phase::kDecode}) {
    const auto model = build_graph(loaded.spec, loaded.weights, phase, DType::kF32);
    ASSERT_TRUE(model.ok()) << model.error().message;
    EXPECT_THAT(onnx::structure_problems(*model), testing::IsEmpty());
    std::set<std::string> values;
    for (const onnx::Node& node : model->graph.nodes) values.insert(node.outputs.begin(), node.outputs.end());
    for (const char* probe : {"embed", "layer.0.input_norm", "layer.0.attn_out", "layer.0.mlp_out", "layer.0.out",
                              "final_norm", "logits", "present_key.0", "present_value.0"})
      EXPECT_TRUE(values.contains(probe)) << probe;
  }
}

// The rows of a batch are B * S, which has no symbol.
bool is_routed(const std::string& value) {
  for (const char* part : {".router_", ".tokens", ".dispatched", ".experts_", ".answers", ".weight", ".combined"})
    if (value.find(part) != std::string::npos) return true;
  return false;
}

TEST_P(EachModel, EveryValueHasAShapeAfterInference) {
  const Loaded loaded = open(GetParam());
  for (const Phase phase : {Phase::kPrefill, Phase::kDecode}) {
    const auto model = build_graph(loaded.spec, loaded.weights, phase, DType::kF32);
    ASSERT_TRUE(model.ok());
    const auto inferred = onnx::infer_shapes(*model);
    ASSERT_TRUE(inferred.ok()) << inferred.error().message;
    for (const onnx::ValueInfo& value : inferred->graph.value_info) {
      ASSERT_TRUE(value.shape) << value.name;
      if (is_routed(value.name)) continue;
      for (const onnx::Dim& dim : *value.shape) EXPECT_NE(dim.text(), "?") << value.name;
    }
  }
}

TEST(ModelGraph, Bf16WeightsAreViewsOfTheCheckpoint) {
  const Loaded loaded = open("tiny-dense");
  const auto model = build_graph(loaded.spec, loaded.weights, Phase::kPrefill, DType::kBF16);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto stored = loaded.weights.tensor("model.embed_tokens.weight");
  const onnx::Initializer* embed = model->graph.initializer("model.embed_tokens.weight");
  ASSERT_TRUE(stored.ok() && embed && embed->data);
  EXPECT_EQ(embed->data->raw(), stored->raw());
}

TEST(ModelGraph, APairSharesItsWeights) {
  const Loaded loaded = open("tiny-dense");
  const auto pair = build_graphs(loaded.spec, loaded.weights, DType::kF32);
  ASSERT_TRUE(pair.ok()) << pair.error().message;
  EXPECT_EQ(pair->prefill.graph.initializer("model.norm.weight")->data->raw(),
            pair->decode.graph.initializer("model.norm.weight")->data->raw());
}

TEST(ModelGraph, WeightsOfAnotherTypeAreRoundedToBf16) {
  for (const char* name : {"mistral-f16", "llama-mha-f32-v4"}) {
    const Loaded loaded = open(name);
    const auto model = build_graph(loaded.spec, loaded.weights, Phase::kPrefill, DType::kBF16);
    ASSERT_TRUE(model.ok()) << model.error().message;
    const char* weight = "model.layers.0.mlp.up_proj.weight";
    const auto stored = to_floats(*loaded.weights.tensor(weight));
    const auto rounded = to_floats(*model->graph.initializer(weight)->data);
    for (std::size_t i = 0; i < stored->size(); ++i) ASSERT_EQ((*rounded)[i], round_bf16((*stored)[i])) << i;
  }
}

TEST(ModelGraph, BiasesOfQwen2AreAdded) {
  const Loaded loaded = open("qwen2-bias-tied-v4");
  const auto model = build_graph(loaded.spec, loaded.weights, Phase::kDecode, DType::kF32);
  ASSERT_TRUE(model.ok()) << model.error().message;
  std::size_t biases = 0;
  for (const onnx::Node& node : model->graph.nodes)
    biases += node.op_type == "Add" && node.inputs[1].ends_with("_proj.bias");
  EXPECT_EQ(biases, 3u * static_cast<std::size_t>(loaded.spec.layers));
}

TEST(ModelGraph, OnlyLayersWithExpertsHaveARouter) {
  const Loaded loaded = open("qwen3moe-mixed-v4");
  const auto model = build_graph(loaded.spec, loaded.weights, Phase::kDecode, DType::kF32);
  ASSERT_TRUE(model.ok()) << model.error().message;
  std::vector<std::string> routers;
  for (const onnx::Node& node : model->graph.nodes)
    if (node.op_type == "TopK") routers.push_back(node.outputs[1]);
  EXPECT_THAT(routers, testing::ElementsAre("layer.1.router_experts", "layer.5.router_experts"));
}

TEST(ModelGraph, RefusesAnElementTypeItCannotBuild) {
  const Loaded loaded = open("tiny-dense");
  const auto model = build_graph(loaded.spec, loaded.weights, Phase::kPrefill, DType::kF16);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().kind, ErrorKind::kUsage);
}

TEST(ModelExport, TwoRunsWriteTheSameBytesAndTheContractReadsBack) {
  const Scratch scratch;
  for (const char* out : {"a", "b"}) {
    const auto report = export_onnx(model_dir("tiny-dense"), scratch / out, DType::kF32);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_GT(report->prefill_nodes, 100u);
  }
  EXPECT_EQ(hash_tree(scratch / "a")->sha256, hash_tree(scratch / "b")->sha256);
  const auto contract = read_contract(scratch / "a");
  ASSERT_TRUE(contract.ok()) << contract.error().message;
  EXPECT_EQ(contract->spec.layers, 5);
  EXPECT_EQ(contract->dtype, DType::kF32);
  const Status checked = check_contract_files(scratch / "a", *contract);
  EXPECT_TRUE(checked.ok()) << checked.error().message;
}

TEST(ModelExport, Bf16WeightsKeepTheCheckpointsBytes) {
  const Scratch scratch;
  ASSERT_TRUE(export_onnx(model_dir("tiny-dense"), scratch / "o", DType::kBF16).ok());
  const auto decode = onnx::load(scratch / "o/decode.onnx");
  ASSERT_TRUE(decode.ok()) << decode.error().message;
  const Loaded loaded = open("tiny-dense");
  const char* name = "model.layers.0.mlp.up_proj.weight";
  const auto stored = loaded.weights.tensor(name);
  const onnx::Initializer* exported = decode->graph.initializer(name);
  ASSERT_TRUE(stored.ok() && exported && exported->data);
  ASSERT_EQ(exported->data->bytes(), stored->bytes());
  EXPECT_EQ(std::memcmp(exported->data->raw(), stored->raw(), stored->bytes()), 0);
}

TEST(ModelExport, AChangedGraphIsNoticed) {
  const Scratch scratch;
  ASSERT_TRUE(export_onnx(model_dir("qwen3-qknorm"), scratch / "o", DType::kF32).ok());
  const auto contract = read_contract(scratch / "o");
  ASSERT_TRUE(contract.ok()) << contract.error().message;
  ASSERT_TRUE(write_file(scratch / "o/decode.onnx", "other").ok());
  const Status checked = check_contract_files(scratch / "o", *contract);
  ASSERT_FALSE(checked.ok());
  EXPECT_THAT(checked.error().message, HasSubstr("decode.onnx"));
}

TEST(ModelExport, AContractWhoseSpecWasEditedIsRefused) {
  const Scratch scratch;
  ASSERT_TRUE(export_onnx(model_dir("qwen3-qknorm"), scratch / "o", DType::kF32).ok());
  auto document = read_json(scratch / "o/contract.json");
  ASSERT_TRUE(document.ok());
  document->find("config")->set("num_hidden_layers", 1);
  ASSERT_TRUE(write_file(scratch / "o/contract.json", to_json(*document)).ok());
  const auto contract = read_contract(scratch / "o");
  ASSERT_FALSE(contract.ok());
}

TEST(ModelExport, AFolderOfOtherThingsIsNotReplaced) {
  const Scratch scratch;
  fs::create_directories(scratch / "home");
  ASSERT_TRUE(write_file(scratch / "home/letter.txt", "keep me").ok());
  const auto report = export_onnx(model_dir("qwen3-qknorm"), scratch / "home", DType::kF32);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().kind, ErrorKind::kInput);
  EXPECT_TRUE(fs::exists(scratch / "home/letter.txt"));
}

}  // namespace
}  // namespace calkit::model
