// Fusions on graphs of every family: what is found, and that the graph still answers the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fusion_graphs.h"
#include "passes/feeds.h"
#include "passes/prove.h"

namespace calkit::passes {
namespace {

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
    for (const bool w8a8 : {false, true}) {
      onnx::Model raw = graph_of(GetParam(), phase);
      if (w8a8) raw = quantized(std::move(raw));
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

// Inner graphs and other functions may call what the main graph does not; remove_dead_code drops what nobody calls.
TEST(Fusion, FunctionsThatTheGraphCameWithStay) {
  onnx::Model model;
  model.opsets = {{"", fusion::kOpset}, {std::string(fusion::kDomain), 1}};
  model.functions = {fusion::kernel_functions().front()};
  const auto applied = fusion::apply("flash-attention", std::move(model));
  ASSERT_TRUE(applied.ok()) << applied.error().message;
  ASSERT_EQ(applied->model.functions.size(), 1u);
  EXPECT_EQ(applied->model.functions[0].name, fusion::kernel_functions().front().name);
}

}  // namespace
}  // namespace calkit::passes
