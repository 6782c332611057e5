#include "calkit/load/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <set>

#include "calkit/base/document.h"
#include "calkit/base/process.h"
#include "fake_model.h"

namespace calkit::load {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::FakeModel;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Result<Cell> run(FakeModel& model, const CellSpec& spec) {
  return run_cell(model, spec, seconds(10), [&model] { return model.clock; });
}

TEST(BenchCell, OneClientAloneSeesPrefillAsTtftAndDecodeAsTpot) {
  FakeModel model;
  const auto cell = run(model, {16, 4, 1, 5, 0, 1});
  ASSERT_TRUE(cell.ok()) << cell.error().message;
  EXPECT_EQ(cell->succeeded, 5u);
  EXPECT_DOUBLE_EQ(*cell->ttft_ns.p50, 5e6);
  EXPECT_DOUBLE_EQ(*cell->tpot_ns.p50, 1e6);
  EXPECT_DOUBLE_EQ(*cell->e2e_ns.p50, 8e6);
  EXPECT_DOUBLE_EQ(*cell->prefill_tokens_per_s, 16 / 0.005);
  EXPECT_DOUBLE_EQ(*cell->decode_tokens_per_s, 1000);
  EXPECT_DOUBLE_EQ(*cell->output_tokens_per_s, 4 / 0.008);
  EXPECT_EQ(cell->decode.steps, 15u);
  EXPECT_DOUBLE_EQ(*cell->decode.infer_ns, 9e5);
}

// Four clients on two slots: the third waits for a whole answer, and its wait is part of its TTFT.
TEST(BenchCell, WaitingForASlotIsPartOfTheTtft) {
  FakeModel model;
  const auto cell = run(model, {16, 3, 4, 4, 0, 1});
  ASSERT_TRUE(cell.ok());
  EXPECT_EQ(model.most_open, 2u);
  // Slots: prefill 5, prefill 5, then two rounds of two decodes: 14 ms; then the other two.
  EXPECT_DOUBLE_EQ(*cell->ttft_ns.min, 5e6);
  EXPECT_DOUBLE_EQ(*cell->ttft_ns.p50, 1e7);
  EXPECT_DOUBLE_EQ(*cell->ttft_ns.max, 24e6);
}

TEST(BenchCell, ActiveSequencesTakeTurnsSoTpotGrowsWithConcurrency) {
  FakeModel model;
  const auto cell = run(model, {16, 5, 2, 2, 0, 1});
  // The first answer waits 5 ms for the other's prefill, then both step in turn, 2 ms apart.
  EXPECT_GT(*cell->tpot_ns.max, *cell->tpot_ns.min);
  EXPECT_DOUBLE_EQ(*cell->tpot_ns.min, 2e6);
}

TEST(BenchCell, WarmUpRequestsAreServedButNotCounted) {
  FakeModel model;
  const auto cell = run(model, {8, 2, 2, 4, 3, 1});
  EXPECT_EQ(model.prefills, 7u);
  EXPECT_EQ(cell->ttft_ns.n, 4u);
  EXPECT_EQ(cell->prefill.steps, 4u);
}

TEST(BenchCell, PromptsHaveTheExactLengthAndNoTwoAreAlike) {
  FakeModel model;
  ASSERT_TRUE(run(model, {17, 1, 3, 40, 2, 7}).ok());
  std::set<std::vector<std::int32_t>> seen;
  for (const auto& prompt : model.prompts) {
    EXPECT_EQ(prompt.size(), 17u);
    EXPECT_TRUE(seen.insert(prompt).second);
    for (const auto id : prompt) EXPECT_TRUE(id >= 0 && id < 64);
  }
}

TEST(BenchCell, TheSameSeedAsksTheSamePrompts) {
  FakeModel a, b, c;
  ASSERT_TRUE(run(a, {9, 2, 2, 6, 1, 7}).ok());
  ASSERT_TRUE(run(b, {9, 2, 2, 6, 1, 7}).ok());
  ASSERT_TRUE(run(c, {9, 2, 2, 6, 1, 8}).ok());
  EXPECT_EQ(a.prompts, b.prompts);
  EXPECT_NE(a.prompts, c.prompts);
}

// A single token has no time between tokens: null, and no rate that is infinite.
TEST(BenchCell, ASingleOutputTokenHasNoTpotAndNoDecodeRate) {
  FakeModel model;
  const auto cell = run(model, {16, 1, 1, 3, 0, 1});
  EXPECT_EQ(cell->tpot_ns.n, 0u);
  EXPECT_FALSE(cell->tpot_ns.p50.has_value());
  EXPECT_FALSE(cell->decode_tokens_per_s.has_value());
  EXPECT_FALSE(cell->decode.infer_ns.has_value());
  EXPECT_EQ(model.decodes, 0u);
}

TEST(BenchCell, TokensAtTheSameInstantHaveTpotZeroAndNoRate) {
  FakeModel model;
  model.decode_time = std::chrono::nanoseconds(0);
  const auto cell = run(model, {16, 4, 1, 3, 0, 1});
  EXPECT_DOUBLE_EQ(*cell->tpot_ns.p50, 0.0);
  EXPECT_FALSE(cell->decode_tokens_per_s.has_value());
}

TEST(BenchCell, ARequestThatFailsIsCountedAndIsNoFastRequest) {
  FakeModel model;
  model.fail = [](std::size_t call) {
    return call == 3 ? std::optional(Error(ErrorKind::kInput, "refused")) : std::nullopt;
  };
  const auto cell = run(model, {16, 2, 1, 4, 0, 1});
  ASSERT_TRUE(cell.ok());
  EXPECT_EQ(cell->failed, 1u);
  EXPECT_EQ(cell->succeeded, 3u);
  EXPECT_EQ(cell->ttft_ns.n, 3u);
  EXPECT_THAT(cell->first_failure, HasSubstr("refused"));
  EXPECT_EQ(model.open, 0u);
}

TEST(BenchCell, NonFiniteLogitsFailTheRequest) {
  FakeModel model;
  model.bend = [](std::size_t call, std::vector<float>& logits) {
    if (call == 2) logits[5] = std::nanf("");
  };
  EXPECT_EQ(run(model, {16, 4, 1, 2, 0, 1})->failed, 1u);
}

TEST(BenchCell, ALostDeviceEndsTheRunAndEverySlotIsFreed) {
  FakeModel model;
  model.fail = [](std::size_t call) {
    return call == 5 ? std::optional(Error(ErrorKind::kDevice, "lost")) : std::nullopt;
  };
  const auto cell = run(model, {16, 8, 2, 4, 0, 1});
  ASSERT_FALSE(cell.ok());
  EXPECT_EQ(cell.error().kind, ErrorKind::kDevice);
  EXPECT_EQ(model.open, 0u);
  EXPECT_EQ(model.prefills + model.decodes, 5u);
}

// The flag cannot be taken back, so each run has a process of its own.
TEST(BenchCellDeathTest, AnInterruptEndsItBeforeTheNextStepHoweverShortTheAnswers) {
  const auto steps_after_signal = [](std::int64_t output_tokens, std::int64_t clients) {
    install_interrupt_handlers();
    FakeModel model;
    model.fail = [](std::size_t call) {
      if (call == 3) std::raise(SIGTERM);
      return std::optional<Error>();
    };
    const auto cell = run(model, {16, output_tokens, clients, 50, 0, 1});
    const bool ended = !cell.ok() && cell.error().kind == ErrorKind::kInterrupted && model.open == 0;
    std::_Exit(ended ? static_cast<int>(model.prefills + model.decodes) : 99);
  };
  EXPECT_EXIT(steps_after_signal(1, 1), testing::ExitedWithCode(3), "");
  EXPECT_EXIT(steps_after_signal(1, 4), testing::ExitedWithCode(3), "");
  EXPECT_EXIT(steps_after_signal(8, 2), testing::ExitedWithCode(3), "");
}

TEST(BenchCell, LengthsThatDoNotFitAreRefusedBeforeAnythingRuns) {
  FakeModel model;
  EXPECT_THAT(run(model, {129, 1, 1, 1, 0, 1}).error().message,
              HasSubstr("the prompt length is 129; allowed: 1 to 128"));
  EXPECT_THAT(run(model, {128, 130, 1, 1, 0, 1}).error().message,
              HasSubstr("the output length is 130; allowed: 1 to 129"));
  EXPECT_TRUE(run(model, {128, 129, 1, 1, 0, 1}).ok()) << "the context exactly full";
  EXPECT_FALSE(run(model, {1, 1, 0, 1, 0, 1}).ok());
  EXPECT_FALSE(run(model, {1, 1, 1, 0, 0, 1}).ok());
}

TEST(BenchReportTest, PercentilesSayWhenThereAreTooFewSamples) {
  EXPECT_THAT(too_few_for(28), ElementsAre("p90", "p99"));
  EXPECT_THAT(too_few_for(29), ElementsAre("p99"));
  EXPECT_THAT(too_few_for(298), ElementsAre("p99"));
  EXPECT_TRUE(too_few_for(299).empty());
}

BenchReport report() {
  BenchReport r;
  r.runtime.name = "emu";
  r.runtime.emulated = true;
  FakeModel model;
  r.cells.push_back(*run(model, {16, 1, 1, 3, 0, 1}));
  r.cells.push_back(*run(model, {16, 4, 2, 3, 0, 1}));
  return r;
}

TEST(BenchReportTest, JsonCsvAndTextSayEmulatedAndHoldNoInfOrNan) {
  const auto r = report();
  for (const std::string& text : {to_json(to_value(r)), to_csv(r), to_text(r)}) {
    EXPECT_THAT(text, HasSubstr("emulated"));
    EXPECT_THAT(text, Not(HasSubstr("inf,")));
    EXPECT_THAT(text, Not(HasSubstr("nan")));
  }
  manifest::Evidence evidence;
  record(r, evidence);
  EXPECT_EQ(evidence.verdict, manifest::EvidenceVerdict::kPass);
  for (const auto& figure : evidence.figures) EXPECT_TRUE(!figure.value || std::isfinite(*figure.value)) << figure.name;
  EXPECT_THAT(evidence.summary, HasSubstr("[emulated]"));
}

TEST(BenchReportTest, EveryCsvRowHasAsManyFieldsAsTheHeader) {
  const std::string csv = to_csv(report());
  std::size_t line_commas = 0, want = 0, line = 0;
  for (const char c : csv) {
    if (c == ',') ++line_commas;
    if (c != '\n') continue;
    if (line++ == 0) want = line_commas;
    EXPECT_EQ(line_commas, want);
    line_commas = 0;
  }
  EXPECT_EQ(line, 3u);
}

TEST(BenchReportTest, AFailedRequestFailsTheBench) {
  auto r = report();
  r.cells[1].failed = 1;
  r.cells[1].first_failure = "request 2: refused";
  manifest::Evidence evidence;
  record(r, evidence);
  EXPECT_EQ(evidence.verdict, manifest::EvidenceVerdict::kFail);
  EXPECT_THAT(evidence.findings, Contains(HasSubstr("request 2: refused")));
}

}  // namespace
}  // namespace calkit::load
