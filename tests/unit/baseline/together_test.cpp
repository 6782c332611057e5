// Prompts that decode together get the bits that each gets alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "baseline/run_prompts.h"
#include "calkit/hf/checkpoint.h"
#include "calkit/model/graph.h"

namespace calkit::baseline {
namespace {

exec::LanguageModel load(const std::string& name, DType dtype, int threads) {
  const std::string dir = std::string(CALKIT_TEST_DATA) + "/models/" + name;
  const auto spec = hf::read_spec(dir);
  const auto weights = hf::Checkpoint::open(dir);
  auto graphs = model::build_graphs(*spec, *weights, dtype);
  exec::SessionOptions options;
  options.threads = threads;
  auto model = exec::LanguageModel::create(std::move(graphs->prefill), std::move(graphs->decode), options);
  return std::move(*model);
}

frozen::ReferenceItem item_of(std::size_t tokens) {
  frozen::ReferenceItem item;
  item.prompt.id = std::to_string(tokens);
  for (std::size_t i = 0; i < tokens; ++i) item.ids.push_back(static_cast<std::int32_t>((31 * i + tokens) % 1000));
  return item;
}

TEST(Together, EachPromptGetsItsOwnBits) {
  for (const char* name : {"qwen3-trained", "qwen3moe-mixed-v4"})
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      auto alone = load(name, dtype, 1), together = load(name, dtype, 2);
      std::vector<frozen::ReferenceItem> a, b;
      for (const std::size_t tokens : {1u, 3u, 17u, 40u, 41u, 90u}) a.push_back(item_of(tokens));
      b = a;
      std::vector<frozen::ReferenceItem*> group;
      for (auto& item : b) group.push_back(&item);
      ASSERT_TRUE(run_items(together, 9, group).ok());
      for (std::size_t i = 0; i < a.size(); ++i) {
        ASSERT_TRUE(run_item(alone, 9, a[i]).ok());
        EXPECT_EQ(a[i].logits, b[i].logits) << name << " " << a[i].ids.size();
        ASSERT_EQ(b[i].greedy.size(), 9u);
        for (std::size_t step = 0; step < 9; ++step) {
          EXPECT_EQ(a[i].greedy[step].token, b[i].greedy[step].token) << name << " " << i << " " << step;
          EXPECT_EQ(a[i].greedy[step].top_logits, b[i].greedy[step].top_logits) << name << " " << i << " " << step;
        }
      }
    }
}

TEST(Together, GroupsAreOfSimilarLengthAndFitTheirMemory) {
  frozen::Reference reference;
  for (const std::size_t tokens : {100u, 2u, 5000u, 3u, 110u, 4u}) reference.items.push_back(item_of(tokens));
  const GroupLimits limits{.items = 3, .bytes = 300000, .bytes_per_token = 1000};
  const auto groups = group_items(reference, {0, 1, 2, 3, 4, 5}, 10, limits);
  using testing::ElementsAre;
  EXPECT_THAT(groups, ElementsAre(ElementsAre(1, 3, 5), ElementsAre(0, 4), ElementsAre(2)));
}

}  // namespace
}  // namespace calkit::baseline
