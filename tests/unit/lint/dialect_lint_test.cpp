/// Lint on a package in a producer's dialect: findings name the producer's file, key and line, and the canonical field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "calkit/base/files.h"
#include "calkit/lint/lint.h"
#include "package_builder.h"
#include "scratch_dir.h"

namespace calkit::lint {
namespace {

using testing::HasSubstr;
using testing_support::ScratchDir;

constexpr const char* kCalrt = CALKIT_TEST_DATA "/packages/calrt-mini.calbin";

/// The committed package of calrt-0.7 with one text of its description replaced.
Result<Report> run_calrt(const std::string& from = {}, const std::string& to = {}) {
  ScratchDir dir;
  std::filesystem::copy(kCalrt, dir / "p", std::filesystem::copy_options::recursive);
  std::string text = dir.read("p/model_info.json");
  const auto at = text.find(from);
  if (at == std::string::npos) return Error(ErrorKind::kInternal, "the fixture has no " + from);
  dir.write("p/model_info.json", text.replace(at, from.size(), to));
  Inputs inputs;
  inputs.package = dir / "p";
  inputs.service = testing_support::good_service();
  return run(inputs);
}

const Finding* find(const Report& report, std::string_view rule) {
  const auto at =
      std::find_if(report.findings.begin(), report.findings.end(), [&](const Finding& f) { return f.rule == rule; });
  return at != report.findings.end() ? &*at : nullptr;
}

TEST(LintDialect, AGoodPackageOfAnotherDialectHasOneNoteAboutItsAssumedKeys) {
  const auto report = run_calrt();
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->dialect, "calrt-0.7");
  EXPECT_EQ(report->dialect_version, "0.1");
  EXPECT_THAT(report->dialect_digest, testing::StartsWith("sha256:"));
  ASSERT_EQ(report->findings.size(), 1u) << to_text(*report, false);
  EXPECT_EQ(report->findings[0].rule, "CB0203");
  EXPECT_EQ(report->findings[0].severity, Severity::kInfo);
  EXPECT_EQ(report->findings[0].file, "model_info.json");
  EXPECT_THAT(report->findings[0].found, HasSubstr("/llm_info: arch"));
  EXPECT_THAT(report->findings[0].found, testing::Not(HasSubstr("model_type")));
  EXPECT_EQ(report->verdict, Verdict::kPass);
}

struct AtProducer {
  const char *rule, *pointer, *canonical, *found;
};
void expect_blocker(const Result<Report>& report, const AtProducer& want) {
  ASSERT_TRUE(report.ok()) << report.error().message;
  const Finding* finding = find(*report, want.rule);
  ASSERT_NE(finding, nullptr) << to_text(*report, false);
  EXPECT_EQ(finding->severity, Severity::kBlocker);
  EXPECT_EQ(finding->file, "model_info.json");
  EXPECT_EQ(finding->pointer, want.pointer);
  EXPECT_EQ(finding->canonical, want.canonical);
  EXPECT_GT(finding->line, 1u);
  EXPECT_THAT(finding->found, HasSubstr(want.found));
}

TEST(LintDialect, AnAbsurdUnitBlocksAtTheProducersKey) {
  expect_blocker(run_calrt("\"device_memory_required\": \"24 KiB\"", "\"device_memory_required\": \"16777216 MB\""),
                 {"CB0803", "/device_memory_required", "/memory/declared_text", "16777216 MB"});
}

TEST(LintDialect, APrefillTypedLlmDecodeBlocksAtTheProducersKey) {
  expect_blocker(run_calrt("\"llm_prefill\"", "\"llm_decode\""),
                 {"CB0302", "/models/0/model_type", "/submodels/0/type", "llm_decode"});
}

TEST(LintDialect, AUnitThatIsMissingOrUnknownIsNotGuessed) {
  const auto bare = run_calrt("\"24 KiB\"", "16777216");
  ASSERT_TRUE(bare.ok());
  EXPECT_NE(find(*bare, "CB0801"), nullptr) << to_text(*bare, false);
  EXPECT_NE(bare->verdict, Verdict::kPass);
  const auto french = run_calrt("\"24 KiB\"", "\"16 Go\"");
  ASSERT_TRUE(french.ok());
  EXPECT_NE(find(*french, "CB0802"), nullptr) << to_text(*french, false);
  EXPECT_EQ(find(*french, "CB0205")->pointer, "/device_memory_required");
}

TEST(LintDialect, AMissingFieldIsToldWhereTheProducerShouldHaveIt) {
  const auto report = run_calrt("\"n_slot\": 2", "\"x\": 2");
  ASSERT_TRUE(report.ok());
  const Finding* missing = find(*report, "CB0204");
  ASSERT_NE(missing, nullptr);
  EXPECT_EQ(missing->pointer, "/llm_info/n_slot");
  EXPECT_EQ(missing->canonical, "/limits/slots");
  EXPECT_GT(missing->line, 1u);
}

TEST(LintDialect, AKeyThatNobodyDescribedIsAWarning) {
  const auto report = run_calrt("\"n_slot\": 2", "\"n_slot\": 2, \"n_slots\": 2");
  ASSERT_TRUE(report.ok());
  const auto at = std::find_if(report->findings.begin(), report->findings.end(),
                               [](const Finding& f) { return f.rule == "CB0203" && f.pointer == "/llm_info/n_slots"; });
  ASSERT_NE(at, report->findings.end());
  EXPECT_EQ(at->severity, Severity::kWarning);
  EXPECT_THAT(at->limit, HasSubstr("'n_slot' is the nearest"));
}

TEST(LintDialect, NoneOrTwoThatFitLeaveNoVerdict) {
  ScratchDir dir;
  std::filesystem::copy(kCalrt, dir / "p", std::filesystem::copy_options::recursive);
  Inputs inputs;
  inputs.package = dir / "p";
  dir.write("p/calbin.json", "{\"schema\": 1}");
  const auto two = run(inputs);
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(two->verdict, Verdict::kIncomplete);
  EXPECT_THAT(to_text(*two, false), HasSubstr("2 dialects fit this package"));
  std::filesystem::remove(dir / "p/calbin.json");
  std::filesystem::remove(dir / "p/model_info.json");
  const auto none = run(inputs);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->verdict, Verdict::kIncomplete);
  EXPECT_THAT(to_text(*none, false), HasSubstr("no dialect fits this package: calkit-emu version 1: "));
  dir.write("p/model_info.json", "{\"models\": [], \"models\": []}");
  const auto twice = run(inputs);
  ASSERT_TRUE(twice.ok());
  ASSERT_NE(find(*twice, "CB0202"), nullptr) << to_text(*twice, false);
  EXPECT_EQ(find(*twice, "CB0202")->file, "model_info.json");
}

}  // namespace
}  // namespace calkit::lint
