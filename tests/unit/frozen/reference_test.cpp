#include <gmock/gmock.h>

#include <cmath>

#include "baseline_support.h"
#include "calkit/base/files.h"
#include "calkit/tensor/npz.h"

namespace calkit::frozen {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(ReferenceTest, ThePeersGoldensAreRead) {
  for (const char* model : {"tiny-dense", "qwen3-qknorm", "qwen3-sharded-v4", "qwen3-trained"})
    for (const char* dtype : {"fp32", "bf16"}) {
      const auto reference = or_die(read_reference(data_dir() / "golden" / model, dtype));
      EXPECT_GE(reference.items.size(), 27u);
      for (const ReferenceItem& item : reference.items) {
        EXPECT_EQ(item.logits.empty(), item.ids.empty()) << item.prompt.id;
        EXPECT_EQ(item.greedy.size(), item.ids.empty() ? 0u : 16u) << item.prompt.id;
      }
    }
}

TEST(ReferenceTest, TwoDtypesNeedAWord) {
  const auto reference = read_reference(tiny_golden());
  ASSERT_FALSE(reference.ok());
  EXPECT_THAT(reference.error().message, HasSubstr("2 of logits_fp32.npz and logits_bf16.npz"));
  EXPECT_FALSE(read_reference(tiny_golden(), "int8").ok());
  const ScratchDir empty;
  EXPECT_THAT(read_reference(empty.path()).error().message, HasSubstr("no reference"));
}

TEST(ReferenceTest, WrittenAndReadBackEveryNumberIsTheSame) {
  const ScratchDir dir;
  const Reference reference = small_reference();
  or_die(write_reference(dir.path(), reference, {}));
  const Reference back = or_die(read_reference(dir.path()));
  EXPECT_EQ(back.dtype, "fp32");
  ASSERT_EQ(back.items.size(), reference.items.size());
  for (std::size_t i = 0; i < back.items.size(); ++i) {
    const ReferenceItem &got = back.items[i], &want = reference.items[i];
    EXPECT_EQ(got.prompt.id, want.prompt.id);
    EXPECT_EQ(got.prompt.text, want.prompt.text);
    EXPECT_EQ(got.ids, want.ids);
    EXPECT_EQ(got.logits, want.logits);
    ASSERT_EQ(got.greedy.size(), want.greedy.size());
    for (std::size_t s = 0; s < got.greedy.size(); ++s) {
      EXPECT_EQ(got.greedy[s].token, want.greedy[s].token);
      EXPECT_EQ(got.greedy[s].top_ids, want.greedy[s].top_ids);
      EXPECT_EQ(got.greedy[s].top_logits, want.greedy[s].top_logits);
      EXPECT_FLOAT_EQ(static_cast<float>(got.greedy[s].margin), static_cast<float>(want.greedy[s].margin));
    }
  }
}

TEST(ReferenceTest, TheSameReferenceIsWrittenAsTheSameBytes) {
  const ScratchDir first, second;
  write_baseline(first.path(), small_reference());
  write_baseline(second.path(), small_reference());
  EXPECT_EQ(first.read("SHA256SUMS"), second.read("SHA256SUMS"));
  EXPECT_THAT(first.read("SHA256SUMS"), testing::Not(HasSubstr("\r")));
}

TEST(ReferenceTest, FaultsNameFileAndPrompt) {
  const ScratchDir dir;
  Reference reference = small_reference(3);
  or_die(write_reference(dir.path(), reference, {}));
  const std::string prompts = dir.read("reference/prompts.jsonl");
  dir.write("reference/prompts.jsonl", prompts + "{\"id\":\"more\",\"text\":\"x\",\"add_special_tokens\":false}\n");
  EXPECT_THAT(read_reference(dir.path()).error().message, AllOf(HasSubstr("token_ids.npz"), HasSubstr("more")));
  dir.write("reference/prompts.jsonl", prompts.substr(0, prompts.find('\n') + 1));
  EXPECT_THAT(read_reference(dir.path()).error().message, HasSubstr("without a prompt"));
  dir.write("reference/prompts.jsonl", prompts);
  const std::string greedy = dir.read("reference/greedy_tokens.jsonl");
  std::string changed = greedy;
  changed.replace(changed.find("\"tokens\":["), 10, "\"tokens\":[7,");
  dir.write("reference/greedy_tokens.jsonl", changed);
  EXPECT_THAT(read_reference(dir.path()).error().message,
              AllOf(HasSubstr("greedy_tokens.jsonl"), HasSubstr("/tokens")));
  dir.write("reference/greedy_tokens.jsonl", "{}\n");
  EXPECT_THAT(read_reference(dir.path()).error().message, HasSubstr("greedy_tokens.jsonl:1"));
}

TEST(GreedyStepTest, TheLargestLogitsAreKeptWithTheMargin) {
  std::vector<float> logits(40);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i % 10);
  const GreedyStep step = or_die(greedy_step(logits));
  EXPECT_EQ(step.token, 9);
  EXPECT_EQ(step.margin, 0.0);
  ASSERT_EQ(step.top_ids.size(), 20u);
  EXPECT_EQ(step.top_ids[1], 19) << "equal logits by smaller id";
  EXPECT_EQ(step.top_logits[4], 8.0f);
  logits[3] = NAN;
  EXPECT_THAT(greedy_step(logits).error().message, HasSubstr("1 of 40"));
}

TEST(CoverageTest, BucketsFollowTheLayoutEdges) {
  EXPECT_EQ(length_bucket(0), "0");
  EXPECT_EQ(length_bucket(14), "2-14");
  EXPECT_EQ(length_bucket(15), "15");
  EXPECT_EQ(length_bucket(17), "17");
  EXPECT_EQ(length_bucket(18), "18-254");
  EXPECT_EQ(length_bucket(257), "257");
  EXPECT_EQ(length_bucket(258), "258-4094");
  EXPECT_EQ(length_bucket(4096), "4096");
  EXPECT_EQ(length_bucket(5000), "4098+");
}

}  // namespace
}  // namespace calkit::frozen
