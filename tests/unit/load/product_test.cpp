#include "calkit/load/product.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_model.h"

namespace calkit::load {
namespace {

using std::chrono::seconds;
using test::FakeModel;
using testing::HasSubstr;

ProductOptions options() {
  ProductOptions out;
  out.bench.timeout = seconds(10);
  out.prompts = 3;
  out.output_tokens = 4;
  out.repeats = 3;
  return out;
}

TEST(Product, ADeviceThatAnswersAlikeIsReproducible) {
  FakeModel model;
  const auto again = ask_again(model, options());
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->prompts, 3u);
  EXPECT_EQ(again->answers_different, 0u);
  EXPECT_EQ(again->logits_different, 0u);
  EXPECT_EQ(again->tokens, 12u);
  EXPECT_EQ(again->sampling_ns.size(), 36u);
  ASSERT_EQ(again->asked.size(), 3u);
  EXPECT_EQ(again->asked[0].size(), 1u);
  EXPECT_EQ(again->asked[2].size(), 33u);
  EXPECT_EQ(model.open, 0u);
}

TEST(Product, OneBentLogitIsSeenEvenWhereTheTokenStays) {
  FakeModel model;
  model.bend = [](std::size_t call, std::vector<float>& logits) {
    if (call == 6) logits.back() = -1234.5f;  // the second step of the second answer
  };
  const auto again = ask_again(model, options());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->answers_different, 0u);
  EXPECT_EQ(again->logits_different, 1u);
}

TEST(Product, AnotherTokenMakesAnotherAnswer) {
  FakeModel model;
  model.bend = [](std::size_t call, std::vector<float>& logits) {
    if (call == 5) logits[3] = 1e6f;
  };
  const auto again = ask_again(model, options());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->answers_different, 1u);
}

TEST(Product, ALengthGivenTwiceMakesNoTwoCells) {
  for (const auto list : {&BenchOptions::prompt_lengths, &BenchOptions::output_lengths, &BenchOptions::concurrency}) {
    auto twice = options();
    twice.bench.*list = {4, 2, 4};
    const auto report = freeze_product(twice);
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().kind, ErrorKind::kUsage);
    EXPECT_THAT(report.error().message, HasSubstr("found 4 twice"));
  }
}

TEST(Product, APromptThatDoesNotFitIsRefused) {
  FakeModel model;
  auto too_long = options();
  too_long.output_tokens = 256;
  const auto again = ask_again(model, too_long);
  ASSERT_FALSE(again.ok());
  EXPECT_THAT(again.error().message, HasSubstr("256 output tokens"));
}

TEST(Product, EveryFigureIsAValueOrANullWithItsReason) {
  FakeModel model;
  BenchReport bench;
  bench.package.context = 256;
  bench.package.slots = 2;
  const auto cell = run_cell(model, {16, 1, 1, 2, 0, 1}, seconds(10), [&model] { return model.clock; });
  ASSERT_TRUE(cell.ok());
  bench.cells = {*cell};
  device::Telemetry telemetry;
  telemetry.power_w = 21.5;
  std::size_t nulls = 0;
  for (const ProductFigure& figure : product_figures(bench, telemetry, {})) {
    EXPECT_FALSE(figure.name.empty());
    EXPECT_FALSE(figure.unit.empty()) << figure.name;
    EXPECT_FALSE(figure.clock.empty()) << figure.name;
    EXPECT_EQ(figure.value.has_value(), figure.reason.empty()) << figure.name;
    nulls += figure.value.has_value() ? 0 : 1;
    if (figure.name == "power_w") {
      EXPECT_EQ(figure.value, 21.5);
    }
    if (figure.name == "tpot_p50_ns") {
      EXPECT_THAT(figure.reason, HasSubstr("single output token"));
    }
    if (figure.name == "kv_tokens_per_sequence") {
      EXPECT_EQ(figure.value, 16);
    }
  }
  EXPECT_GT(nulls, 6u);
}

}  // namespace
}  // namespace calkit::load
