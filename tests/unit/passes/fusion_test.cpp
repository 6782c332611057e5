// Fusions on graphs of every family: what is found, and that the graph still answers the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "calkit/fusion/fusion.h"
#include "calkit/hf/checkpoint.h"
#include "calkit/hf/spec.h"
#include "calkit/model/graph.h"
#include "calkit/passes/normalize.h"
#include "passes/feeds.h"
#include "passes/prove.h"

namespace calkit::passes {
namespace {

namespace fs = std::filesystem;

onnx::Model graph_of(const std::string& name, model::Phase phase, DType dtype) {
  const fs::path dir = fs::path(CALKIT_TEST_DATA) / "models" / name;
  const auto spec = hf::read_spec(dir);
  EXPECT_TRUE(spec.ok()) << spec.error().message;
  const auto weights = hf::Checkpoint::open(dir);
  EXPECT_TRUE(weights.ok());
  auto graph = model::build_graph(*spec, *weights, phase, dtype);
  EXPECT_TRUE(graph.ok());
  return std::move(*graph);
}

onnx::Model ready(onnx::Model model) {
  auto shaped = infer(std::move(model));
  EXPECT_TRUE(shaped.ok()) << shaped.error().message;
  return put_in_order(std::move(shaped->model)).model;
}

std::map<std::string, int> counts(const onnx::Model& model) {
  std::map<std::string, int> out;
  for (const auto& node : model.graph.nodes)
    ++out[node.domain.empty() ? node.op_type : node.domain + ":" + node.op_type];
  return out;
}

onnx::Model fuse_all(onnx::Model model) {
  model = ready(std::move(model));
  for (const auto& fusion : fusion::catalogue()) {
    auto applied = fusion::apply(fusion.id, std::move(model));
    EXPECT_TRUE(applied.ok()) << applied.error().message;
    for (const auto& refusal : applied->refused)
      ADD_FAILURE() << fusion.id << " refused at " << refusal.node << ": " << refusal.precondition;
    model = ready(std::move(applied->model));
  }
  return model;
}

class Families : public testing::TestWithParam<const char*> {};

TEST_P(Families, AnswerTheSameFused) {
  for (const auto phase : {model::Phase::kPrefill, model::Phase::kDecode})
    for (const bool quantized : {false, true}) {
      onnx::Model raw = graph_of(GetParam(), phase, DType::kF32);
      if (quantized) {
        auto made = fusion::quantize_projections(ready(std::move(raw)));
        ASSERT_TRUE(made.ok()) << made.error().message;
        raw = remove_dead_code(ready(std::move(made->model))).model;
      }
      const onnx::Model fused = fuse_all(raw);
      std::vector<Feed> feeds;
      for (const auto& prompt : drawn_prompts(2, vocabulary(raw))) {
        auto feed = feed_for(raw, prompt);
        ASSERT_TRUE(feed.ok()) << feed.error().message;
        feeds.push_back(std::move(*feed));
      }
      const auto before = answers_of(raw, feeds, 1), after = answers_of(fused, feeds, 1);
      ASSERT_TRUE(before.ok()) << before.error().message;
      ASSERT_TRUE(after.ok()) << after.error().message;
      const auto proof = prove(raw, feeds, *before, *after);
      ASSERT_TRUE(proof.ok()) << proof.error().message;
      // The executor sums experts in another order when it groups them itself; all else is the same operators.
      EXPECT_LE(proof->worst_nmse(), 1e-12);
      EXPECT_TRUE(proof->identical() || counts(raw)["TopK"] > 0);
      EXPECT_EQ(counts(fused)["calkit.fused:FlashAttention"], counts(raw)["Attention"]);
    }
}

INSTANTIATE_TEST_SUITE_P(All, Families,
                         testing::Values("tiny-dense", "llama-micro-v4", "llama-gqa-rope3", "mistral-f16",
                                         "qwen2-bias-tied-v4", "qwen3-qknorm", "qwen3moe-e8k2", "qwen3moe-mixed-v4"));

}  // namespace
}  // namespace calkit::passes
