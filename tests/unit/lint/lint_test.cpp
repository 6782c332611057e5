#include "calkit/lint/lint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "lint_case.h"
#include "scratch_dir.h"

namespace calkit::lint {

using testing_support::ScratchDir;

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LintMutation : public testing::TestWithParam<LintCase> {};

TEST_P(LintMutation, IsReportedByExactlyTheseRules) {
  Scene setup = good_setup();
  GetParam().change(setup);
  const auto report = run_setup(setup);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(finding_ids(*report), GetParam().expected) << to_text(*report, false);
  EXPECT_EQ(open_ids(*report), GetParam().open) << to_text(*report, false);
  const bool open = std::any_of(report->rules.begin(), report->rules.end(), [](const RuleOutcome& outcome) {
    return outcome.status == RuleStatus::kNotEvaluated && outcome.rule.severity >= Severity::kError &&
           outcome.rule.maturity == Maturity::kStable;
  });
  const bool failed = report->count(Severity::kError) + report->count(Severity::kBlocker) > 0;
  EXPECT_EQ(report->verdict, open ? Verdict::kIncomplete : failed ? Verdict::kFail : Verdict::kPass);
  for (const auto& outcome : report->rules) {
    const auto has = [&](const Ids& ids) { return std::find(ids.begin(), ids.end(), outcome.rule.id) != ids.end(); };
    const auto want = has(GetParam().open)       ? RuleStatus::kNotEvaluated
                      : has(GetParam().expected) ? RuleStatus::kFail
                                                 : RuleStatus::kPass;
    if (outcome.status != RuleStatus::kNotApplicable) {
      EXPECT_EQ(outcome.status, want) << outcome.rule.id;
    }
  }
  for (const auto& finding : report->findings) {
    EXPECT_THAT(finding.found, testing::Not(IsEmpty())) << finding.rule;
    EXPECT_THAT(finding.limit, testing::Not(IsEmpty())) << finding.rule;
    EXPECT_THAT(finding.fix, testing::Not(IsEmpty())) << finding.rule;
  }
}

INSTANTIATE_TEST_SUITE_P(All, LintMutation, testing::ValuesIn(all_cases()), [](const auto& tested) {
  std::string name = tested.param.name;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return fmt::format("{:03}_{}", tested.index, name);
});

TEST(Lint, AcceptsTheGoodPackageWithoutAnyRemark) {
  const auto report = run_setup(good_setup());
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_THAT(report->findings, IsEmpty()) << to_text(*report, false);
  EXPECT_EQ(report->verdict, Verdict::kPass);
  EXPECT_EQ(report->count(RuleStatus::kPass) + report->count(RuleStatus::kNotApplicable), rules().size());
  EXPECT_EQ(report->package, "mini.calbin");
}

TEST(Lint, AcceptsOtherTileSizesVocabulariesAndSlots) {
  for (const std::int64_t tile : {0, 16, 32}) {
    Scene setup = good_setup();
    const testing_support::PackageShape shape{100, 128, 32, 4, tile};
    setup.package = testing_support::good_package(shape);
    setup.service = testing_support::good_service(shape);
    const auto report = run_setup(setup);
    ASSERT_TRUE(report.ok());
    EXPECT_THAT(report->findings, IsEmpty()) << tile << to_text(*report, false);
  }
}

TEST(Lint, SaysWhichRulesNeedAServiceManifest) {
  Scene setup = good_setup();
  setup.service.reset();
  const auto report = run_setup(setup);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->verdict, Verdict::kPass);
  Ids ids;
  for (const auto& outcome : report->rules)
    if (outcome.status == RuleStatus::kNotApplicable && outcome.reason == "no --service given")
      ids.push_back(std::string(outcome.rule.id));
  EXPECT_THAT(ids, ElementsAre("CB0304", "CB0306", "CB0401", "CB0402", "CB0408", "CB0411"));
  const std::string text = to_text(*report, false);
  EXPECT_THAT(text, HasSubstr("not-applicable: CB0304 CB0306 CB0401 CB0402 CB0408 CB0411: no --service given\n"));
  EXPECT_THAT(text, HasSubstr("in part: CB0403 CB0407: no --service given: only"));
}

TEST(Lint, ASmallerContextIsANoteAndPasses) {
  Scene setup = good_setup();
  setup.service->context = 32;
  const auto report = run_setup(setup);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->verdict, Verdict::kPass);
  EXPECT_EQ(finding_ids(*report, Severity::kInfo), Ids{"CB0402"});
  EXPECT_THAT(to_text(*report, false), HasSubstr("note[CB0402]"));
}

TEST(Lint, AnAbsentOptionalFileIsANoteAndPasses) {
  Scene setup = good_setup();
  setup.package.description.files.push_back({"log", "build.log", "log", 5, "sha256:" + std::string(64, 'a'), 0, true});
  const auto report = run_setup(setup);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->verdict, Verdict::kPass);
  EXPECT_EQ(finding_ids(*report, Severity::kInfo), Ids{"CB0101"});
}

TEST(Lint, GivesTheSameBytesForTheSamePackage) {
  Scene setup = good_setup();
  setup.package.region("kv").size -= 4096;
  setup.service->vocab = 33;
  const auto first = run_setup(setup), second = run_setup(setup);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(to_json(to_value(*first)), to_json(to_value(*second)));
  const Value document = to_value(*first);
  EXPECT_EQ(*document.find("schema")->if_string(), "calkit.lint-report/2");
  EXPECT_EQ(*document.find("verdict")->if_string(), "fail");
  EXPECT_EQ(document.find("rules")->if_array()->size(), rules().size());
  EXPECT_THAT(to_json(document), testing::Not(HasSubstr("/tmp")));
}

TEST(Lint, WritesAFindingWithPlaceFoundLimitAndFix) {
  Scene setup = good_setup();
  setup.package.decode_model().outputs[0].base = setup.package.region("io.decode").base + 4096 - 64;
  setup.package.decode.ops[0].writes[0].base = setup.package.region("io.decode").base;
  const auto report = run_setup(setup);
  ASSERT_TRUE(report.ok());
  const std::string text = to_text(*report, false);
  EXPECT_THAT(text,
              HasSubstr("mini.calbin: error[CB0501]: output 'logits' of 'mini-decode' lies outside its reservation\n"
                        "  where: calbin.json#/submodels/1/outputs/0 (line "));
  EXPECT_THAT(
      text,
      HasSubstr(
          "\n  found: 0x10005fc0 + 128 B\n  limit: reservation 'io.decode' 0x10005000 + 4096 B on chip 0\n  fix:   "));
  EXPECT_THAT(to_text(*report, true), HasSubstr("\x1b[1;31merror[CB0501]"));
}

TEST(Lint, NamesTheRulesThatAMissingFieldLeavesOpen) {
  Scene setup = good_setup();
  setup.package.edit_document = [](Value& d) { d.find("memory")->set("regions", Value()); };
  const auto report = run_setup(setup);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->verdict, Verdict::kIncomplete);
  EXPECT_EQ(finding_ids(*report), Ids{"CB0204"});
  EXPECT_THAT(report->findings[0].found, HasSubstr("CB0501"));
  EXPECT_THAT(open_ids(*report), testing::IsSupersetOf({"CB0501", "CB0502", "CB0504", "CB0506", "CB0605"}));
  EXPECT_THAT(to_text(*report, false),
              testing::ContainsRegex("not-evaluated:[ CB0-9]* CB0501[ CB0-9]*: /memory/regions is missing"));
}

TEST(Lint, OneBrokenItemDoesNotHideTheOthers) {
  Scene setup = good_setup();
  setup.package.decode_model().outputs[0].base = setup.package.region("io.decode").base + 4096 - 64;
  setup.package.edit_document = [](Value& d) {
    auto& submodels = *d.find("submodels")->if_array();
    (*submodels[0].find("inputs")->if_array())[0].set("base", 4096);
  };
  const auto report = run_setup(setup);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->verdict, Verdict::kIncomplete);
  EXPECT_THAT(finding_ids(*report), ElementsAre("CB0205", "CB0501"));
}

TEST(Lint, ListsAtMostTwoHundredFindingsOfARuleAndCountsTheRest) {
  Scene setup = good_setup();
  setup.package.edit_document = [](Value& d) {
    for (int i = 0; i < 250; ++i) d.find("limits")->set("k" + std::to_string(i), i);
  };
  const auto report = run_setup(setup);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->findings.size(), 200u);
  EXPECT_THAT(to_text(*report, false), HasSubstr("50 more findings are not listed"));
}

TEST(Lint, AWrongChipMaskIsOneFinding) {
  Scene setup = good_setup();
  setup.package = testing_support::good_package({32, 64, 16, 2, 0, 1, true});
  setup.package.description.device.chip_mask = 2;
  const auto report = run_setup(setup);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->findings.size(), 1u) << to_text(*report, false);
  EXPECT_EQ(report->findings[0].rule, "CB0404");
  EXPECT_EQ(report->findings[0].canonical, "/device/chip_mask");
  EXPECT_THAT(report->findings[0].limit, HasSubstr("0x1, where all of it lies: 2 submodels, 9 regions, 4 parameters"));
}

TEST(Lint, AChipThatTheMaskLeavesOutIsOneFindingAndItsCountAnother) {
  Scene setup = good_setup();
  const testing_support::PackageShape shape{32, 64, 16, 2, 0, 2, true};
  setup.package = testing_support::good_package(shape);
  setup.service = testing_support::good_service(shape);
  setup.package.description.device.chip_mask = 1;
  const auto report = run_setup(setup);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(finding_ids(*report), (Ids{"CB0404", "CB0901"})) << to_text(*report, false);
  EXPECT_EQ(report->count(Severity::kBlocker) + report->count(Severity::kError), 2u) << to_text(*report, false);
}

TEST(Lint, AFolderThatIsNotThereIsAnErrorAndNoReport) {
  Inputs inputs;
  inputs.package = "no-such-folder.calbin";
  const auto report = run(inputs);
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().message, HasSubstr("no-such-folder.calbin"));
}

TEST(LintRules, AreSortedUniqueAndExplained) {
  std::string last;
  std::set<std::string_view> names;
  for (const auto& rule : rules()) {
    EXPECT_LT(last, rule.id);
    last = rule.id;
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    const std::string page(rule_page(rule.id));
    EXPECT_THAT(page,
                testing::StartsWith(fmt::format(
                    "# {} {}\n\nSeverity: {}. Class: {}. Method: {}.\n\nWhat must hold: {}.\n", rule.id, rule.name,
                    severity_name(rule.severity), class_name(rule.rule_class), rule.origin, rule.summary)));
    std::ifstream file(std::string(CALKIT_SOURCE_DIR) + "/docs/rules/" + std::string(rule.id) + ".md",
                       std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_EQ(text.str(), page) << rule.id;
    for (const char* section : {"## Why\n", "## Refused\n", "## Accepted, though close\n", "## What to do\n"})
      EXPECT_THAT(page, HasSubstr(section)) << rule.id;
  }
  EXPECT_EQ(rule_page("CB9999"), "");
}

TEST(LintRules, HaveEachACaseThatFails) {
  std::set<std::string> covered, bad;
  for (const auto& c : all_cases()) {
    covered.insert(c.expected.begin(), c.expected.end());
    if (!c.expected.empty()) bad.insert(c.name);
  }
  for (const auto& rule : rules()) EXPECT_TRUE(covered.contains(std::string(rule.id))) << rule.id << " has no bad case";
  EXPECT_GE(bad.size(), 220u) << "cases of different names that some rule must report";
}

TEST(LintRules, HaveADigestOfTheirOwn) {
  EXPECT_EQ(ruleset_digest(), ruleset_digest());
  EXPECT_THAT(ruleset_digest(), testing::MatchesRegex("sha256:[0-9a-f]{64}"));
}

}  // namespace
}  // namespace calkit::lint
