/// Waivers, and the fingerprints they go by.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "calkit/lint/output.h"
#include "calkit/lint/policy.h"
#include "lint_case.h"
#include "scratch_dir.h"

namespace calkit::lint {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using testing_support::ScratchDir;

/// A package with one warning, CB0104, and one error, CB0503.
Scene two_faults() {
  Scene scene = good_setup();
  scene.package.files["extra.bin"] = "x";
  scene.package.region("kv").align = 3;
  return scene;
}

std::string entry(const Finding& finding, const std::string& expires = "2026-12-31") {
  return fmt::format(
      R"({{"rule": "{}", "fingerprint": "{}", "reason": "known", "owner": "ops", "expires": "{}", "added_by_tool_version": "0.1.0"}})",
      finding.rule, finding.fingerprint, expires);
}

WaiverFile file_of(const std::string& entries) {
  auto file = parse_waivers(R"({"schema": "calkit.waivers/1", "waivers": [)" + entries + "]}", "w.json");
  EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().message);
  return file.ok() ? *file : WaiverFile{};
}

Report judged(Report report, const WaiverFile& file, const std::string& today = "2026-06-01", Policy policy = {}) {
  judge(report, policy, *choose_rules({}, {}), &file, today);
  return report;
}

std::multiset<std::string> prints(const Report& report) {
  std::multiset<std::string> out;
  for (const auto& finding : report.findings) out.insert(finding.fingerprint);
  return out;
}

const Finding& finding_of(const Report& report, std::string_view rule) {
  return *std::find_if(report.findings.begin(), report.findings.end(),
                       [&](const Finding& finding) { return finding.rule == rule; });
}

TEST(Waivers, AWaivedErrorPassesAndIsListedInEveryFormat) {
  const auto found = run_setup(two_faults());
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->verdict, Verdict::kFail) << to_text(*found, false);
  const Report report = judged(*found, file_of(entry(finding_of(*found, "CB0503"))));
  EXPECT_EQ(report.verdict, Verdict::kPass);
  EXPECT_THAT(report.stale, SizeIs(0));
  EXPECT_THAT(render(report, Format::kText), HasSubstr("waived[CB0503]"));
  EXPECT_THAT(render(report, Format::kText), HasSubstr("waived by ops until 2026-12-31: known"));
  EXPECT_THAT(render(report, Format::kText), HasSubstr("1 waived finding"));
  EXPECT_THAT(render(report, Format::kJson), HasSubstr("\"reason\": \"known\""));
  EXPECT_THAT(render(report, Format::kSarif), HasSubstr("\"justification\": \"known (ops, until 2026-12-31)\""));
  EXPECT_THAT(render(report, Format::kJunit), HasSubstr("<skipped message=\"waived: known\"/>"));
  EXPECT_THAT(render(report, Format::kGithub), HasSubstr("CB0503 address-misaligned (waived)"));
}

TEST(Waivers, AnExpiredOneIsToldAndTheFindingIsLiveAgain) {
  const auto found = run_setup(two_faults());
  ASSERT_TRUE(found.ok());
  const WaiverFile file = file_of(entry(finding_of(*found, "CB0503"), "2026-05-31"));
  EXPECT_EQ(judged(*found, file, "2026-05-31").verdict, Verdict::kPass);
  const Report report = judged(*found, file, "2026-06-01");
  EXPECT_EQ(report.verdict, Verdict::kFail);
  ASSERT_THAT(report.stale, SizeIs(1));
  EXPECT_TRUE(report.stale[0].expired);
  EXPECT_FALSE(finding_of(report, "CB0503").waiver);
  for (const Format format : {Format::kText, Format::kSarif, Format::kJunit, Format::kGithub})
    EXPECT_THAT(render(report, format), HasSubstr("expired")) << static_cast<int>(format);
}

/// A waiver of a finding that the good package does not have.
WaiverFile unused_waiver() {
  Finding other;
  other.rule = "CB0503";
  other.fingerprint = "sha256:" + std::string(64, 'b');
  return file_of(entry(other));
}

TEST(Waivers, AnUnusedOneFailsUnlessAllowed) {
  const auto found = run_setup(good_setup());
  ASSERT_TRUE(found.ok());
  const WaiverFile file = unused_waiver();
  const Report report = judged(*found, file);
  EXPECT_EQ(report.verdict, Verdict::kFail);
  EXPECT_THAT(render(report, Format::kText),
              HasSubstr("error[waiver]: the waiver of CB0503 by ops matches no finding"));
  Policy policy;
  policy.allow_stale_waivers = true;
  EXPECT_EQ(judged(*found, file, "2026-06-01", policy).verdict, Verdict::kPass);
}

TEST(Waivers, OfARuleThatDidNotRunNobodySaysItIsUnused) {
  const auto found = run_setup(good_setup());
  ASSERT_TRUE(found.ok());
  const WaiverFile file = unused_waiver();
  Report report = *found;
  judge(report, {}, *choose_rules({}, {"CB0503"}), &file, "2026-06-01");
  EXPECT_EQ(report.verdict, Verdict::kPass);
}

TEST(Waivers, PruningKeepsWhatIsInUse) {
  const auto found = run_setup(two_faults());
  ASSERT_TRUE(found.ok());
  Finding other = finding_of(*found, "CB0503");
  other.fingerprint = "sha256:" + std::string(64, 'b');
  const WaiverFile file = file_of(entry(finding_of(*found, "CB0503")) + "," + entry(other));
  const auto kept = parse_waivers(pruned(file, judged(*found, file)), "w.json");
  ASSERT_TRUE(kept.ok());
  ASSERT_THAT(kept->waivers, SizeIs(1));
  EXPECT_EQ(kept->waivers[0].fingerprint, finding_of(*found, "CB0503").fingerprint);
}

TEST(Waivers, TheFileIsStrict) {
  const std::string print = "sha256:" + std::string(64, 'a');
  const std::string good =
      R"({"rule": "CB0503", "fingerprint": ")" + print +
      R"(", "reason": "r", "owner": "o", "expires": "2028-02-29", "added_by_tool_version": "0.1.0"})";
  const auto parse = [](const std::string& entries) {
    return parse_waivers(R"({"schema": "calkit.waivers/1", "waivers": [)" + entries + "]}", "w.json");
  };
  EXPECT_TRUE(parse(good).ok());
  EXPECT_TRUE(parse("").ok());
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{{"CB0503", "CB9999"},
                                                                                 {"CB0503", "CB0803"},
                                                                                 {"2028-02-29", "2027-02-29"},
                                                                                 {"2028-02-29", "2028-2-29"},
                                                                                 {"\"r\"", "\" \""},
                                                                                 {"\"o\"", "7"},
                                                                                 {"sha256:a", "sha256:A"},
                                                                                 {"owner", "ownr"}}) {
    std::string bad = good;
    bad.replace(bad.find(from), from.size(), to);
    EXPECT_FALSE(parse(bad).ok()) << to;
  }
  EXPECT_FALSE(parse(good + "," + good).ok());
  EXPECT_FALSE(parse_waivers("{}", "w.json").ok());
  EXPECT_FALSE(parse_waivers(R"({"schema": "calkit.waivers/2", "waivers": []})", "w.json").ok());
}

TEST(Fingerprints, StayWhenListsAreReorderedAndTheFolderIsMoved) {
  Scene scene = two_faults();
  scene.package.decode_model().outputs[0].base += 1;
  const auto first = run_setup(scene);
  ASSERT_TRUE(first.ok());
  ASSERT_GE(first->findings.size(), 3u);
  auto& d = scene.package.description;
  std::reverse(d.files.begin(), d.files.end());
  std::reverse(d.memory.regions.begin(), d.memory.regions.end());
  std::reverse(d.params.begin(), d.params.end());
  scene.package.edit_text = [](std::string& text) { text = "\n\n" + text; };  // other lines
  ScratchDir dir;
  scene.package.write(dir / "elsewhere/mini.calbin");
  Inputs inputs;
  inputs.package = dir / "elsewhere/mini.calbin";
  inputs.service = scene.service;
  const auto second = run(inputs);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(prints(*first), prints(*second)) << to_text(*first, false) << to_text(*second, false);
}

TEST(Fingerprints, DifferByValueAndPlaceAndCountTwins) {
  Scene scene = two_faults();
  const auto first = run_setup(scene);
  scene.package.region("kv").align = 5;
  const auto second = run_setup(scene);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(finding_of(*first, "CB0503").fingerprint, finding_of(*second, "CB0503").fingerprint);
  EXPECT_EQ(finding_of(*first, "CB0104").fingerprint, finding_of(*second, "CB0104").fingerprint);
  EXPECT_THAT(finding_of(*first, "CB0503").symbol, testing::StartsWith("/memory/regions/kv"));
  for (const auto& scene_of_two : {*first, *second}) {
    const auto all = prints(scene_of_two);
    EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
  }
}

}  // namespace
}  // namespace calkit::lint
