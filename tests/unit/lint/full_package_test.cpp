/// The package of a board, with one chip and with two: no rule finds anything, whichever it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenes.h"

namespace calkit::lint {
namespace {

Scene board(std::int64_t chips) {
  Scene scene = good_setup();
  testing_support::PackageShape shape;
  shape.chips = chips;
  shape.full = true;
  scene.package = testing_support::good_package(shape);
  scene.service = testing_support::good_service(shape);
  scene.package.description.compat.device = "board";
  scene.support = manifest::SupportMatrix{"test matrix", {{{"any", "any", "any", "board"}, true, "tried"}}};
  return scene;
}

TEST(LintOfABoardsPackage, FindsNothing) {
  for (const std::int64_t chips : {1, 2}) {
    const auto report = run_setup(board(chips));
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_THAT(report->findings, testing::IsEmpty()) << chips << to_text(*report, false);
    EXPECT_EQ(report->verdict, Verdict::kPass) << to_text(*report, false);
  }
}

TEST(LintOfABoardsPackage, LeavesNoRuleUnusedButThoseThatNeedAnotherInput) {
  const auto report = run_setup(board(2));
  ASSERT_TRUE(report.ok());
  for (const auto& outcome : report->rules)
    if (outcome.status == RuleStatus::kNotApplicable) {
      EXPECT_THAT(outcome.reason, testing::AnyOf(testing::HasSubstr("given"), testing::HasSubstr("JSON")))
          << outcome.rule.id;
    }
}

}  // namespace
}  // namespace calkit::lint
