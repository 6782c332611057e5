/// The formats of a report: what each holds, and that hostile text cannot break out of any.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "calkit/base/document.h"
#include "calkit/base/text.h"
#include "calkit/lint/output.h"
#include "calkit/lint/policy.h"
#include "lint_case.h"

namespace calkit::lint {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr Format kAll[] = {Format::kText, Format::kJson, Format::kSarif, Format::kJunit, Format::kGithub};

Scene overrun() {
  Scene scene = good_setup();
  scene.package.decode_model().outputs[0].base = scene.package.region("io.decode").base + 4096 - 64;
  scene.package.decode.ops[0].writes[0].base = scene.package.region("io.decode").base;
  return scene;
}

Report report_of(const Scene& scene) {
  auto report = run_setup(scene);
  EXPECT_TRUE(report.ok());
  return report.ok() ? std::move(report).value() : Report{};
}

TEST(Formats, GiveTheSameBytesTwiceAndNoPathOfTheMachine) {
  const Report first = report_of(overrun()), second = report_of(overrun());
  for (const Format format : kAll) {
    const std::string text = render(first, format);
    EXPECT_EQ(text, render(second, format));
    EXPECT_THAT(text, Not(HasSubstr("/tmp")));
    EXPECT_TRUE(text.ends_with("\n"));
    EXPECT_THAT(text, HasSubstr("CB0501"));
  }
}

TEST(Formats, SarifNamesTheTensorAndTheRule) {
  const std::string text = render(report_of(overrun()), Format::kSarif);
  const auto document = parse_json(text, "lint.sarif");
  ASSERT_TRUE(document.ok());
  const Value& run = (*document->find("runs")->if_array())[0];
  EXPECT_EQ(run.find("tool")->find("driver")->find("rules")->if_array()->size(), rules().size());
  const Value& result = (*run.find("results")->if_array())[0];
  EXPECT_EQ(*result.find("ruleId")->if_string(), "CB0501");
  EXPECT_EQ(*result.find("level")->if_string(), "error");
  const Value& location = (*result.find("locations")->if_array())[0];
  EXPECT_EQ(*(*location.find("logicalLocations")->if_array())[0].find("fullyQualifiedName")->if_string(),
            "/submodels/mini-decode/outputs/logits");
  EXPECT_EQ(*location.find("physicalLocation")->find("artifactLocation")->find("uri")->if_string(), "calbin.json");
  EXPECT_THAT(text, HasSubstr("\"security-severity\": \"9.0\""));
}

TEST(Formats, SarifSaysWhenTheRunIsIncomplete) {
  Scene scene = good_setup();
  scene.package.edit_document = [](Value& d) { d.find("memory")->set("regions", Value()); };
  const std::string text = render(report_of(scene), Format::kSarif);
  EXPECT_THAT(text, HasSubstr("\"executionSuccessful\": false"));
  EXPECT_THAT(text, HasSubstr("CB0501 was not evaluated: /memory/regions is missing"));
}

TEST(Formats, JunitHasACaseForEachRuleAndSubmodel) {
  const std::string text = render(report_of(overrun()), Format::kJunit);
  EXPECT_THAT(text, HasSubstr("classname=\"calbin-lint.memory\" name=\"CB0501 tensor-outside-region [mini-decode]\""));
  EXPECT_THAT(text, HasSubstr("classname=\"calbin-lint.memory\" name=\"CB0501 tensor-outside-region [mini-prefill]\""));
  EXPECT_THAT(text, HasSubstr("<failure type=\"blocker\" message=\"output 'logits' of 'mini-decode' lies outside"));
}

/// Names as an attacker writes them.
Report hostile_report() {
  Report report = report_of(overrun());
  Finding& finding = report.findings[0];
  finding.file = "a]]>&<\"\x01\xff\n::error::x%0A,b:c.bin";
  finding.message = finding.found = finding.limit = finding.fix = finding.file;
  finding.symbol = "/" + finding.file;
  return report;
}

TEST(Formats, HostileTextStaysText) {
  const Report report = hostile_report();
  for (const Format format : kAll) {
    const std::string text = render(report, format, {false, "dir"});
    if (format == Format::kSarif || format == Format::kJson) {
      EXPECT_TRUE(parse_json(text, "x").ok());
    }
  }
  const std::string junit = render(report, Format::kJunit);
  EXPECT_EQ(invalid_utf8_at(junit), std::string::npos);
  EXPECT_THAT(junit, Not(HasSubstr("]]>")));
  EXPECT_THAT(junit, Not(HasSubstr("\x01")));
  for (const auto& line : split(render(report, Format::kGithub), '\n'))
    EXPECT_TRUE(line.empty() || line.starts_with("::error file=") || line.starts_with("::notice file=")) << line;
  EXPECT_THAT(render(report, Format::kGithub), HasSubstr("%3A%3Aerror%3A%3Ax%250A%2Cb%3Ac.bin"));
}

TEST(Formats, TextThatCannotBeSeenIsWrittenOut) {
  Report report = report_of(overrun());
  report.findings[0].message = report.findings[0].found =
      "a\xEF\xBF\xBE\xE2\x80\xAE"
      "b\xE2\x80\x8B\xC2\x9B"
      "c\xFF\xF0\x9F\xBF\xBF";
  report.package = "p\xff.calbin";
  for (const Format format : {Format::kText, Format::kJunit, Format::kGithub}) {
    const std::string text = render(report, format);
    EXPECT_EQ(invalid_utf8_at(text), std::string::npos);
    EXPECT_THAT(text, HasSubstr("a\\u{fffe}\\u{202e}b\\u{200b}\\u{9b}c\\xff\\u{1ffff}"));
    EXPECT_THAT(text, HasSubstr("p\\xff.calbin"));
  }
}

TEST(Formats, TextOfOtherAlphabetsIsLeftAlone) {
  Report report = report_of(overrun());
  report.findings[0].message = "\u00e9 \u4f60\u597d \u0634 \U0001f600";
  for (const Format format : {Format::kText, Format::kJunit, Format::kGithub})
    EXPECT_THAT(render(report, format), HasSubstr(report.findings[0].message));
}

TEST(Messages, PlacesInMemoryAreHexAndPlacesInFilesDecimal) {
  Scene scene = good_setup();
  scene.package.param("one").base = scene.package.param("table").base;
  const std::string text = render(report_of(scene), Format::kText);
  EXPECT_THAT(text, testing::ContainsRegex(
                        "share bytes of a chip's memory\n.*\n  found: 0x[0-9a-f]+ \\+ [0-9]+ B\n  limit: from 0x"));
}

TEST(Messages, ATooLargeSizeIsNotToldToBeAnAddress) {
  Scene scene = good_setup();
  scene.package.edit_text = [](std::string& text) {
    text.insert(text.find("\"size\": ") + 8, "18446744073709551616");
    text.replace(text.find("18446744073709551616") + 20, 1, ", \"x-size\": ");
  };
  EXPECT_THAT(render(report_of(scene), Format::kText), HasSubstr("fix:   correct the producer; sizes end at 2^53-1"));
}

TEST(Formats, APathPrefixSaysWhereThePackageLies) {
  const Report report = report_of(overrun());
  EXPECT_THAT(render(report, Format::kGithub, {false, "packages/mini"}),
              HasSubstr("file=packages/mini/calbin.json,line="));
  EXPECT_THAT(render(report, Format::kGithub), HasSubstr("file=mini.calbin/calbin.json,line="));
  EXPECT_THAT(render(report, Format::kSarif, {false, "packages/mini/"}),
              HasSubstr("\"uri\": \"packages/mini/calbin.json\""));
}

TEST(Formats, SarifKeepsBelowTheDisplayLimit) {
  Report report = report_of(overrun());
  Finding note = report.findings[0];
  note.severity = Severity::kInfo;
  report.findings.insert(report.findings.begin(), 6000, note);
  const auto document = parse_json(render(report, Format::kSarif), "x");
  ASSERT_TRUE(document.ok());
  const Value& run = (*document->find("runs")->if_array())[0];
  const auto& results = *run.find("results")->if_array();
  EXPECT_LT(results.size(), 5000u);
  const bool kept = std::any_of(results.begin(), results.end(),
                                [](const Value& result) { return *result.find("level")->if_string() == "error"; });
  EXPECT_TRUE(kept) << "the gravest are kept";
  EXPECT_THAT(render(report, Format::kSarif), HasSubstr("more results are not listed"));
}

TEST(Formats, RulesHaveFewTagsAndAPage) {
  const auto document = parse_json(render(report_of(good_setup()), Format::kSarif), "x");
  ASSERT_TRUE(document.ok());
  const Value& run = (*document->find("runs")->if_array())[0];
  for (const auto& rule : *run.find("tool")->find("driver")->find("rules")->if_array()) {
    EXPECT_LE(rule.find("properties")->find("tags")->if_array()->size(), 10u);
    EXPECT_THAT(*rule.find("help")->find("markdown")->if_string(), testing::StartsWith("# CB"));
  }
}

}  // namespace
}  // namespace calkit::lint
