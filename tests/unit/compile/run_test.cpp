// Packed packages on the emulated device against the goldens of Transformers.
#include <gmock/gmock.h>

#include "road.h"

namespace calkit::compile {
namespace {

using testing_support::ScratchDir;

/// Packs, runs and compares; fails the test on an error.
Comparison packed_and_compared(const Road& road, PackOptions options, std::size_t prompts, std::size_t steps,
                               double margin = 1e-3) {
  Comparison out;
  [&] {
    const auto report = pack(options);
    ASSERT_TRUE(report.ok()) << report.error().message;
    auto running = start(options.out, *report);
    ASSERT_TRUE(running.ok()) << running.error().message;
    auto compared = compare(*running->session, road.reference(), prompts, steps, margin);
    ASSERT_TRUE(compared.ok()) << compared.error().message;
    out = *compared;
  }();
  return out;
}

TEST(PackedModel, Fp32EqualsThePeerForEveryPromptAndStep) {
  const Road& road = Road::of({});
  const ScratchDir dir;
  const Comparison got = packed_and_compared(road, road.options(dir / "tiny-dense.calbin"), 80, 16);
  EXPECT_GE(got.prompts, 70u);
  EXPECT_LE(got.nmse_max, 1e-9);
  EXPECT_EQ(got.greedy_equal + got.greedy_excused, got.steps);
  EXPECT_LE(got.greedy_excused * 100, got.steps);
}

TEST(PackedModel, TilesAndSlotsChangeNoNumber) {
  const Road& road = Road::of({});
  for (const std::int64_t tile : {0, 16, 32}) {
    for (const std::int64_t slots : {1, 4}) {
      const ScratchDir dir;
      PackOptions options = road.options(dir / "tiny-dense.calbin");
      options.tile_rows = tile;
      options.slots = slots;
      const Comparison got = packed_and_compared(road, options, 6, 6);
      EXPECT_EQ(got.prompts, 6u);
      EXPECT_LE(got.nmse_max, 1e-9) << "tile " << tile << ", slots " << slots;
      EXPECT_EQ(got.greedy_equal + got.greedy_excused, got.steps);
    }
  }
}

TEST(PackedModel, Bf16StaysWithinWhatThePeersOwnKernelsDiffer) {
  const Road& road = Road::of({"tiny-dense", DType::kBF16, 2048, 1});
  const ScratchDir dir;
  const Comparison got = packed_and_compared(road, road.options(dir / "tiny-dense.calbin"), 40, 4, 0.25);
  EXPECT_LE(got.nmse_max, 2e-3);
  EXPECT_GE(got.greedy_equal + got.greedy_excused, got.steps * 99 / 100);
}

TEST(PackedModel, FixtureModelsRunToo) {
  for (const char* model : {"qwen3-qknorm", "qwen3-sharded-v4", "qwen3-trained"}) {
    const Road& road = Road::of({model, DType::kF32, 512, 1});
    const ScratchDir dir;
    const Comparison got = packed_and_compared(road, road.options(dir / "fixture.calbin"), 12, 8);
    EXPECT_GE(got.prompts, 5u) << model;
    EXPECT_LE(got.nmse_max, 1e-9) << model;
    EXPECT_EQ(got.greedy_equal + got.greedy_excused, got.steps) << model;
  }
}

TEST(PackedModel, SequencesInDifferentSlotsDoNotTouchEachOther) {
  const Road& road = Road::of({});
  const ScratchDir dir;
  PackOptions options = road.options(dir / "tiny-dense.calbin");
  options.slots = 3;
  const auto report = pack(options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  auto running = start(options.out, *report);
  ASSERT_TRUE(running.ok()) << running.error().message;
  device::Session& session = *running->session;

  struct Lane {
    const frozen::ReferenceItem* item;
    std::optional<device::Sequence> sequence;
    std::vector<float> logits;
  };
  std::vector<Lane> lanes;
  for (const frozen::ReferenceItem& item : road.reference().items) {
    if (item.ids.empty() || item.ids.size() > 100 || lanes.size() == 3) continue;
    auto sequence = session.start();
    ASSERT_TRUE(sequence.ok());
    lanes.push_back({&item, std::move(*sequence), {}});
  }
  ASSERT_EQ(lanes.size(), 3u);
  for (std::size_t step = 0; step < 6; ++step) {  // one token of each in turn
    for (Lane& lane : lanes) {
      auto out = step == 0 ? session.prefill(*lane.sequence, lane.item->ids, soon())
                           : session.decode(*lane.sequence, lane.item->greedy[step - 1].token, soon());
      ASSERT_TRUE(out.ok()) << out.error().message;
      const auto& logits = out->logits;
      const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
      if (lane.item->greedy[step].margin > 1e-3) {
        EXPECT_EQ(best, lane.item->greedy[step].token) << lane.item->prompt.id << " step " << step;
      }
    }
  }
}

TEST(PackedModel, CountersReturnToZeroAndTransfersAreCounted) {
  const Road& road = Road::of({});
  const ScratchDir dir;
  const PackOptions options = road.options(dir / "tiny-dense.calbin");
  const auto report = pack(options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  auto running = start(options.out, *report);
  ASSERT_TRUE(running.ok()) << running.error().message;
  EXPECT_EQ(running->session->configure_report().param_bytes > 0, true);
  {
    auto sequence = running->session->start();
    ASSERT_TRUE(sequence.ok());
    const std::vector<std::int32_t> tokens = {5, 6, 7};
    const auto out = running->session->prefill(*sequence, tokens, soon());
    ASSERT_TRUE(out.ok());
    EXPECT_GT(out->times.infer.count(), 0);
  }
  running->session.reset();
  const auto counters = running->device->counters();
  ASSERT_TRUE(counters.ok());
  EXPECT_EQ(counters->buffers + counters->mapped + counters->kv_slots + counters->jobs + counters->packages, 0u);
  EXPECT_EQ(counters->bytes_h2d, 3u * 2 * 8);
  EXPECT_EQ(counters->bytes_d2h, 2048u * 4);
}

}  // namespace
}  // namespace calkit::compile
