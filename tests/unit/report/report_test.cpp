#include "calkit/report/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "calkit/base/document.h"
#include "report/chart.h"
#include "report/parts.h"

namespace calkit::report {
namespace {

using manifest::Evidence;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Evidence make(const std::string& command, const std::string& device = "none") {
  Evidence r;
  r.command = command;
  r.file = "evidence/" + command + "-1.json";
  r.verdict = manifest::EvidenceVerdict::kPass;
  r.summary = command + " went well";
  r.device.kind = device;
  r.device.name = device;
  r.started_utc = "2026-01-01T00:00:00Z";
  r.finished_utc = "2026-01-01T00:00:01Z";
  r.duration_s = 1.5;
  r.inputs.push_back({"calbin", "tiny.calbin", std::string(64, 'c'), 4096});
  r.figures.push_back({"cycles", 30.0, "cycles", 30, "counted"});
  return r;
}

Value parsed(const std::string& text) {
  return *parse_json(text, "test");
}

std::string page(const std::vector<Evidence>& records) {
  return html(records, gate::judge(records, gate::Require::kC2));
}

TEST(ReportPage, ItIsSelfContainedAndMayLoadNothing) {
  const std::string out = page({make("triage"), make("runner", "emulated")});
  EXPECT_THAT(out, HasSubstr("default-src 'none'; style-src 'unsafe-inline'"));
  EXPECT_THAT(out, Not(HasSubstr("<script")));
  EXPECT_THAT(out, Not(HasSubstr("http://")));
  EXPECT_THAT(out, Not(HasSubstr("https://")));
  EXPECT_THAT(out, Not(HasSubstr("url(")));
  EXPECT_THAT(out, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(out, HasSubstr("@media print"));
}

TEST(ReportPage, EmulatedResultsAreLabelled) {
  EXPECT_THAT(page({make("runner", "emulated")}), HasSubstr("EMULATED"));
  EXPECT_THAT(page({make("triage")}), Not(HasSubstr("EMULATED")));
}

TEST(ReportPage, WhateverARecordSaysIsEscaped) {
  const std::string evil = "<script>alert('x')</script>\"&";
  Evidence r = make("runner");
  r.summary = r.device.name = r.findings.emplace_back() = evil;
  r.device.kind = "plugin\"><b>";
  r.inputs[0].path = r.inputs[0].role = evil;
  r.figures[0].name = r.figures[0].unit = r.figures[0].how = evil;
  r.details = Value::object({{"rows", Value::array({Value::object({{evil, evil}})})}});
  const std::string out = page({r});
  EXPECT_THAT(out, Not(HasSubstr("<script")));
  EXPECT_THAT(out, Not(HasSubstr("\"><b>")));
  EXPECT_THAT(out, HasSubstr("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&#34;&amp;"));
}

TEST(ReportPage, ARecordOfAnotherPackageIsListedAsStaleNotShownAsThisRuns) {
  Evidence lint = make("calbin-lint"), old = make("runner");
  old.inputs[0].sha256 = std::string(64, 'd');
  old.summary = "old result";
  const std::string out = page({old, lint});
  EXPECT_THAT(out, HasSubstr("stale: made with calbin dddddddddddd"));
  EXPECT_THAT(out, Not(HasSubstr("<p>old result</p>")));
}

TEST(ReportPage, NoRecordsMakeAPageToo) {
  EXPECT_THAT(page({}), HasSubstr("run `calkit triage`"));
}

TEST(ReportFigures, ValuesCarryReadableUnitsAndANullIsADash) {
  EXPECT_EQ(figure_text(3.41e6, "ns"), "3.41 ms");
  EXPECT_EQ(figure_text(1.5, "s"), "1.50 s");
  EXPECT_EQ(figure_text(1264.0, "steps"), "1264 steps");
  EXPECT_EQ(figure_text(2.5e-13, "1"), "2.5e-13");
  EXPECT_EQ(figure_text(3.0 * 1024 * 1024, "B"), "3.000 MiB");
  EXPECT_EQ(figure_text(std::nullopt, "ns"), "–");
  EXPECT_EQ(figure_text(std::numeric_limits<double>::infinity(), "ns"), "–");
}

TEST(ReportDetails, AnArrayOfFlatObjectsBecomesATable) {
  const std::string out = details_html(parsed(
      R"({"schema":"calkit.triage/1","rules":[{"rule":"vocab","found":2048,"pass":true},{"rule":"size","found":null}]})"));
  EXPECT_THAT(out, HasSubstr("rules (2)"));
  EXPECT_THAT(out, HasSubstr("<td class=\"n\">2048</td>"));
  EXPECT_THAT(out, HasSubstr("<td>yes</td>"));
  EXPECT_THAT(out, HasSubstr("<td class=\"n\">–</td>"));
}

TEST(ReportDetails, ATableStartsWithWhatARowIsAboutAndShowsVerdictsAsBadges) {
  const std::string out =
      details_html(parsed(R"({"rules":[{"allowed":"at most 9","id":"vocab","text":"ids fit","verdict":"fail"}]})"));
  EXPECT_THAT(out, HasSubstr("<th>id</th><th>text</th><th>allowed</th><th>verdict</th>"));
  EXPECT_THAT(out, HasSubstr("<span class=\"badge fail\">fail</span>"));
}

TEST(ReportDetails, TheBenchHasChartsAndAFlagForTooFewSamples) {
  const std::string out = details_html(parsed(R"({"schema":"calkit.bench/1","cells":[
    {"prompt_tokens":16,"output_tokens":8,"concurrency":1,"succeeded":8,"failed":0,"ttft_ns":{"p50":5e6,"p90":6e6,"p99":7e6,"n_too_small_for":["p90","p99"]},
     "tpot_ns":{"p50":null,"n_too_small_for":["p90","p99"]},"decode_tokens_per_s":null,"decode_stages":{"steps":0}}]})"));
  EXPECT_THAT(out, HasSubstr("Time to first token"));
  EXPECT_THAT(out, HasSubstr("5.00</td>"));
  EXPECT_THAT(out, HasSubstr("6.00*</td>"));
  EXPECT_THAT(out, HasSubstr("concurrency (clients)"));
  EXPECT_THAT(out, HasSubstr("No figure to draw"));
}

TEST(ReportDetails, TheSoakHasAMemorySeries) {
  const std::string out = details_html(parsed(
      R"({"schema":"calkit.soak/1","series":[{"cycle":1,"heap_bytes":1048576,"anon_bytes":1,"rss_bytes":1},{"cycle":2,"heap_bytes":2097152}]})"));
  EXPECT_THAT(out, HasSubstr("Heap in use"));
  EXPECT_THAT(out, HasSubstr("<path class=\"line s0\""));
}

TEST(ReportDetails, DocumentsOfAnyShapeAreSurvived) {
  for (const char* text :
       {"null", "[]", "3", R"({"schema":3})", R"({"schema":"calkit.bench/1"})",
        R"({"schema":"calkit.bench/1","cells":3})", R"({"schema":"calkit.bench/1","cells":[3,null,[]]})",
        R"({"schema":"calkit.soak/1","series":[{"cycle":"x"}]})", R"({"schema":"calkit.soak/1","series":[[]]})"})
    EXPECT_NO_FATAL_FAILURE(details_html(parsed(text))) << text;
}

TEST(Chart, TicksAreRoundNumbersThatCoverTheRange) {
  EXPECT_THAT(nice_ticks(0, 10), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(nice_ticks(0, 0.7), testing::SizeIs(testing::AllOf(testing::Ge(3u), testing::Le(8u))));
  EXPECT_GE(nice_ticks(0, 0.7).back(), 0.7);
  EXPECT_EQ(nice_ticks(5, 5).size(), nice_ticks(5, 5).size());
  EXPECT_LE(nice_ticks(99, 101).front(), 99);
}

TEST(ChartDrawing, NonFinitePointsAreGapsAndNeverReachTheFile) {
  Chart chart{"t",
              "x",
              "y",
              {Line{"a",
                    {{1, 2.0, std::nullopt},
                     {2, std::numeric_limits<double>::quiet_NaN(), std::nullopt},
                     {3, 4.0, std::numeric_limits<double>::infinity()}}}},
              true,
              true,
              true};
  const std::string svg = draw(chart);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

}  // namespace
}  // namespace calkit::report
