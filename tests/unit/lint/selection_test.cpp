/// What the command line may choose, and that nothing it can say softens a blocker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "calkit/base/hash.h"
#include "calkit/lint/output.h"
#include "calkit/lint/policy.h"
#include "lint_case.h"

namespace calkit::lint {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Ids blockers() {
  Ids out;
  for (const auto& rule : rules())
    if (rule.severity == Severity::kBlocker) out.emplace_back(rule.id);
  return out;
}

TEST(Selection, WithoutWordsIsEveryRule) {
  const auto all = choose_rules({}, {});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->size(), rules().size());
  EXPECT_TRUE(std::is_sorted(all->begin(), all->end()));
}

TEST(Selection, KeepsTheBlockersBesideWhatWasSelected) {
  const auto chosen = choose_rules({"CB1101", "unlisted-file", "schema"}, {});
  ASSERT_TRUE(chosen.ok());
  EXPECT_THAT(*chosen, testing::IsSupersetOf(blockers()));
  EXPECT_THAT(*chosen, testing::IsSupersetOf({"CB0104", "CB0203"}));
  EXPECT_THAT(*chosen, Not(Contains("CB0106")));
}

TEST(Selection, IgnoresByIdAndName) {
  const auto chosen = choose_rules({}, {"CB0106", "unlisted-file"});
  ASSERT_TRUE(chosen.ok());
  EXPECT_THAT(*chosen, Not(Contains("CB0106")));
  EXPECT_THAT(*chosen, Not(Contains("CB0104")));
  EXPECT_EQ(chosen->size(), rules().size() - 2);
}

TEST(Selection, RefusesToIgnoreABlockerByAnyWord) {
  for (const auto& rule : rules()) {
    if (rule.severity != Severity::kBlocker) continue;
    const Family family = family_of(rule.id);
    for (const std::string_view word : {rule.id, rule.name, family.number, family.name}) {
      const auto chosen = choose_rules({}, {std::string(word)});
      ASSERT_FALSE(chosen.ok()) << word;
      EXPECT_EQ(chosen.error().kind, ErrorKind::kUsage);
      EXPECT_THAT(chosen.error().message, HasSubstr(std::string(rule.id)));
    }
  }
}

TEST(Selection, NamesTheRuleThatWasProbablyMeant) {
  const auto chosen = choose_rules({}, {"unlisted-fil"});
  ASSERT_FALSE(chosen.ok());
  EXPECT_EQ(chosen.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(chosen.error().hint, HasSubstr("unlisted-file"));
  EXPECT_FALSE(choose_rules({"CB9999"}, {}).ok());
  EXPECT_FALSE(policy_of_profile("customer").ok());
  EXPECT_FALSE(parse_severity("fatal").ok());
  EXPECT_FALSE(parse_format("xml").ok());
}

/// The two faults that nothing may let through.
Scene implausible_unit() {
  Scene scene = good_setup();
  scene.package.description.memory.declared_text = "16777216 MB";
  return scene;
}
Scene prefill_called_decode() {
  Scene scene = good_setup();
  scene.package.edit_text = [](std::string& text) {
    const std::string from = "\"type\": \"prefill\"";
    text.replace(text.find(from), from.size(), "\"type\": \"llm_decode\"");
  };
  return scene;
}

TEST(Blockers, BlockWhateverTheOptions) {
  for (const auto& scene : {implausible_unit(), prefill_called_decode()}) {
    const auto found = run_setup(scene);
    ASSERT_TRUE(found.ok());
    ASSERT_NE(found->verdict, Verdict::kPass) << to_text(*found, false);
    Ids ignorable, others;
    for (const auto& rule : rules())
      if (rule.severity != Severity::kBlocker) ignorable.emplace_back(rule.id);
    int tried = 0;
    for (const char* profile : {"vendor", "dev", "ci", "bundle"})
      for (const Severity fail_on : {Severity::kBlocker, Severity::kError, Severity::kWarning, Severity::kInfo})
        for (const int flags : {0, 1, 2, 3, 4, 5, 6, 7})
          for (const auto& select : {Ids{}, Ids{"CB0106"}, Ids{"golden"}})
            for (const auto& ignore : {Ids{}, ignorable}) {
              auto policy = policy_of_profile(profile);
              ASSERT_TRUE(policy.ok());
              policy->fail_on = fail_on;
              policy->strict = (flags & 1) != 0;
              policy->preview = (flags & 2) != 0;
              policy->allow_stale_waivers = (flags & 4) != 0;
              const auto chosen = choose_rules(select, ignore);
              ASSERT_TRUE(chosen.ok());
              Report report = *found;
              judge(report, *policy, *chosen, nullptr, "2026-01-01");
              EXPECT_NE(report.verdict, Verdict::kPass);
              EXPECT_GE(report.count(Severity::kBlocker), 1u);
              ++tried;
            }
    EXPECT_EQ(tried, 4 * 4 * 8 * 3 * 2);
  }
}

TEST(Blockers, CannotBeWaived) {
  for (const auto& id : blockers()) {
    const auto file = parse_waivers(R"({"schema": "calkit.waivers/1", "waivers": [{"rule": ")" + id +
                                        R"(", "fingerprint": "sha256:)" + std::string(64, 'a') +
                                        R"(", "reason": "r", "owner": "o", "expires": "2099-01-01",)" +
                                        R"( "added_by_tool_version": "0.1.0"}]})",
                                    "w.json");
    ASSERT_FALSE(file.ok()) << id;
    EXPECT_EQ(file.error().kind, ErrorKind::kInput);
    EXPECT_THAT(file.error().message, HasSubstr("blocker"));
  }
}

TEST(Policy, StrictMakesUnlistedFilesErrors) {
  Scene scene = good_setup();
  scene.package.files["extra.bin"] = "x";
  const auto found = run_setup(scene);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->verdict, Verdict::kPass);
  const auto all = choose_rules({}, {});
  for (const auto& [profile, verdict] : {std::pair{"dev", Verdict::kPass},
                                         {"ci", Verdict::kPass},
                                         {"vendor", Verdict::kFail},
                                         {"bundle", Verdict::kFail}}) {
    Report report = *found;
    judge(report, *policy_of_profile(profile), *all, nullptr, "2026-01-01");
    EXPECT_EQ(report.verdict, verdict) << profile;
  }
  Report report = *found;
  judge(report, *policy_of_profile("vendor"), *choose_rules({}, {"CB0104"}), nullptr, "2026-01-01");
  EXPECT_EQ(report.verdict, Verdict::kPass);
  EXPECT_THAT(report.unselected, testing::ElementsAre("CB0104"));
}

/// A report with one finding of a preview error rule.
Report preview_report() {
  Report report;
  report.package = "p";
  RuleInfo rule{"CB1002", "command-text-mismatch", Severity::kError, RuleClass::kInvalid, "s",
                "7e",     Maturity::kPreview};
  report.rules = {{rule, RuleStatus::kFail, ""}};
  Finding finding;
  finding.rule = "CB1002";
  finding.message = finding.found = finding.limit = finding.fix = finding.file = "x";
  finding.fingerprint = "sha256:" + std::string(64, 'a');
  report.findings = {finding};
  return report;
}

TEST(Preview, ReportsEverywhereAndNeverFailsUnlessAsked) {
  Report report = preview_report();
  Policy policy;
  judge(report, policy, {"CB1002"}, nullptr, "2026-01-01");
  EXPECT_EQ(report.verdict, Verdict::kPass);
  EXPECT_EQ(report.count(Severity::kError), 0u);
  EXPECT_THAT(render(report, Format::kText), HasSubstr("error[CB1002 preview]"));
  EXPECT_THAT(render(report, Format::kText), HasSubstr("1 preview finding"));
  EXPECT_THAT(render(report, Format::kJson), HasSubstr("\"maturity\": \"preview\""));
  EXPECT_THAT(render(report, Format::kSarif), HasSubstr("\"level\": \"note\""));
  EXPECT_THAT(render(report, Format::kJunit), HasSubstr("failures=\"0\""));
  EXPECT_THAT(render(report, Format::kGithub),
              HasSubstr("::notice file=p/x,title=CB1002 command-text-mismatch (preview)"));
  policy.preview = true;
  judge(report, policy, {"CB1002"}, nullptr, "2026-01-01");
  EXPECT_EQ(report.verdict, Verdict::kFail);
  report.rules[0].status = RuleStatus::kNotEvaluated;
  report.findings.clear();
  judge(report, policy, {"CB1002"}, nullptr, "2026-01-01");
  EXPECT_EQ(report.verdict, Verdict::kIncomplete);
  judge(report, {}, {"CB1002"}, nullptr, "2026-01-01");
  EXPECT_EQ(report.verdict, Verdict::kPass);
}

}  // namespace
}  // namespace calkit::lint
