#include "calkit/inventory/formula.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace calkit::inventory {
namespace {

using testing::ElementsAre;

Formula f(std::string_view text) {
  return Formula::parse(text);
}

TEST(Formula, PrintsWhatItRead) {
  for (const char* text : {"0", "17", "B", "B*S", "past + seq", "s15 + 1", "2*B*S + 16", "B*S - 3", "B^2"})
    EXPECT_EQ(f(text).text(), std::string(text) == "B^2" ? "'B^2'" : text);
  EXPECT_EQ(f("1 + s15").text(), "s15 + 1");
  EXPECT_EQ(f("S * S").text(), "S^2");
}

TEST(Formula, TextThatIsNoSumOfProductsIsASymbol) {
  for (const char* text : {"s0 // 2", "(a", "a +", "", "+", "a b", "9999999999999999999999", "axis-", "维"}) {
    EXPECT_EQ(f(text).symbols().size(), 1u) << text;
    EXPECT_EQ(*f(text).symbols().begin(), text);
  }
}

TEST(Formula, AddsAndMultiplies) {
  EXPECT_EQ(f("B + 1") * f("B - 1"), f("B*B - 1"));
  EXPECT_EQ((f("B") - f("B")).text(), "0");
  EXPECT_EQ((f("past + seq") * f("2*B")).text(), "2*B*past + 2*B*seq");
  EXPECT_THAT((f("past + seq") * f("2*B")).symbols(), ElementsAre("B", "past", "seq"));
}

TEST(Formula, DividesExactlyOrNotAtAll) {
  EXPECT_EQ((f("B*past*64 + B*seq*64")).whole_over(f("past + seq")).text(), "64*B");
  EXPECT_EQ(f("B*S*64").whole_over(f("B*S*16")).text(), "4");
  EXPECT_FALSE(f("B + 1").over(f("B + 2")).known());
  EXPECT_FALSE(f("B").over(Formula(0)).known());
  EXPECT_FALSE(f("3*B").whole_over(Formula(2)).known());
  EXPECT_EQ(f("3*B").over(Formula(2)).text(), "3*B/2");
  EXPECT_EQ(f("1200").over(f("B*S")).text(), "1200/(B*S)");
  EXPECT_EQ((f("1200").over(f("B*S")) * f("S")).text(), "1200/B");
}

TEST(Formula, EvaluatesWhereAllSymbolsAreGiven) {
  const Formula both = f("2*B*S + 16").over(f("B"));
  EXPECT_EQ(both.at({{"B", 3}, {"S", 5}}).number(), 46.0 / 3);
  EXPECT_EQ(both.at({{"B", 3}}).number(), std::nullopt);
  EXPECT_EQ(both.at({{"B", 2}, {"S", 5}}).whole(), 18);
  EXPECT_FALSE(both.at({{"B", 0}, {"S", 5}}).known());
  EXPECT_EQ(f("total").with({{"total", f("past + seq")}}).text(), "past + seq");
}

TEST(Formula, TheUnknownSpreadsAndEqualsNothing) {
  const Formula unknown = Formula::unknown();
  EXPECT_FALSE((unknown * Formula(0)).known());
  EXPECT_FALSE((unknown + f("B")).known());
  EXPECT_FALSE(unknown == unknown);
  EXPECT_EQ(unknown.text(), "?");
}

TEST(Formula, WhatDoesNotFitIsUnknownInsteadOfWrong) {
  EXPECT_FALSE((Formula(INT64_MAX) + Formula(1)).known());
  EXPECT_FALSE((Formula(INT64_MAX) * Formula(2)).known());
  EXPECT_FALSE((Formula(INT64_MIN) * Formula(-1)).known());
  Formula power = f("B"), wide(0);
  for (int i = 0; i < 40; ++i) power = power * f("B");
  EXPECT_FALSE(power.known());
  for (int i = 0; i < 100; ++i) wide += Formula::symbol("s" + std::to_string(i));
  EXPECT_FALSE(wide.known());
}

TEST(Formula, MultiplesHoldForAllValues) {
  EXPECT_TRUE(f("16*S").multiple_of(16));
  EXPECT_FALSE(f("16*S + 1").multiple_of(16));
  EXPECT_FALSE(f("S").multiple_of(16));
  EXPECT_TRUE(f("B*S + 3").never_negative());
  EXPECT_FALSE(f("S - 3").never_negative());
}

// Evaluating a formula must give what evaluating its parts gives.
TEST(Formula, AgreesWithWholeNumbers) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 500; ++round) {
    const Bindings at = {{"a", 1 + below(9)}, {"b", 1 + below(9)}, {"c", 1 + below(9)}};
    Formula formula(1 + below(5));
    std::int64_t value = *formula.whole();
    for (int step = 0; step < 6; ++step) {
      const char* name = below(3) == 0 ? "a" : below(2) == 0 ? "b" : "c";
      const std::int64_t n = below(7) - 3;
      if (below(2) == 0) {
        formula = formula + f(name) * Formula(n);
        value += at.at(name) * n;
      } else {
        formula = formula * (f(name) + Formula(n));
        value *= at.at(name) + n;
      }
    }
    EXPECT_EQ(formula.at(at).whole(), value) << formula.text();
    EXPECT_EQ((formula * f("a + b")).over(f("a + b")), formula);
  }
}

}  // namespace
}  // namespace calkit::inventory
