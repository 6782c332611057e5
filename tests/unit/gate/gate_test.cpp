#include "calkit/gate/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "calkit/base/document.h"
#include "record_builder.h"

namespace calkit::gate {
namespace {

using manifest::EvidenceVerdict;
using test::digest;
using test::make_record;
using test::record_of;
using test::road;
using testing::Contains;
using testing::HasSubstr;

const Row& row(const Report& report, const std::string& id) {
  for (const Row& r : report.rows)
    if (id == r.gate->id) return r;
  ADD_FAILURE() << "no gate " << id;
  return report.rows.front();
}

TEST(GateTable, IdsAreUniqueAndEveryStageOfTheMethodIsThere) {
  std::set<std::string> ids, stages;
  for (const Gate& gate : gates()) {
    EXPECT_TRUE(ids.insert(gate.id).second) << gate.id;
    stages.insert(gate.stage);
    EXPECT_TRUE(gate.on_road || *gate.without != '\0') << gate.id << " must say what is missing";
    if (gate.on_road) {
      EXPECT_STREQ(gate.status, "C2") << gate.id;
      EXPECT_STRNE(gate.command, "") << gate.id;
    }
  }
  for (int stage = 0; stage <= 11; ++stage) EXPECT_TRUE(stages.contains(std::to_string(stage))) << stage;
}

TEST(GateJudge, AWholeRoadPassesEveryC2Gate) {
  const Report report = judge(road(), Require::kC2);
  EXPECT_EQ(report.verdict, EvidenceVerdict::kPass) << report.summary;
  EXPECT_TRUE(report.findings.empty());
  EXPECT_EQ(report.chain.at("calbin"), digest('c'));
  EXPECT_EQ(report.chain.at("model"), digest('1'));
}

TEST(GateJudge, NoRecordsIsIncompleteAndSaysWhatToRun) {
  const Report report = judge({}, Require::kC2);
  EXPECT_EQ(report.verdict, EvidenceVerdict::kIncomplete);
  EXPECT_EQ(row(report, "G00").state, State::kMissing);
  EXPECT_THAT(row(report, "G00").note, HasSubstr("calkit triage"));
}

TEST(GateJudge, EmulatedEvidenceNeverSatisfiesAC3Gate) {
  const Report report = judge(road(), Require::kC3);
  EXPECT_EQ(report.verdict, EvidenceVerdict::kIncomplete);
  const Row board = row(report, "G13");
  EXPECT_EQ(board.state, State::kOpen);
  EXPECT_THAT(board.note, HasSubstr("needs vendor"));
  EXPECT_THAT(board.note, HasSubstr("emulated run showed: runner was fine"));
  for (const Row& r : report.rows)
    EXPECT_TRUE(std::string_view(r.gate->status) != "C3" || r.state != State::kSatisfied) << r.gate->id;
}

TEST(GateJudge, ABoardsRecordSatisfiesItsC3GateEvenIfAnEmulatedRunCameLater) {
  auto records = road();
  auto board = record_of(records, "runner");
  board.device.kind = "plugin";
  records.insert(records.begin(), board);
  EXPECT_EQ(row(judge(records, Require::kC2), "G13").state, State::kSatisfied);
}

TEST(GateJudge, AFailedRecordFailsAndIsNamed) {
  auto records = road();
  record_of(records, "calbin-lint").verdict = EvidenceVerdict::kFail;
  const Report report = judge(records, Require::kC2);
  EXPECT_EQ(report.verdict, EvidenceVerdict::kFail);
  EXPECT_THAT(report.findings, Contains(HasSubstr("G11")));
}

TEST(GateJudge, AnInconclusiveSoakIsIncompleteNotFailed) {
  auto records = road();
  record_of(records, "soak").verdict = EvidenceVerdict::kIncomplete;
  EXPECT_EQ(judge(records, Require::kC2).verdict, EvidenceVerdict::kIncomplete);
}

TEST(GateJudge, TheNewestRecordOfAnArtefactDecides) {
  auto records = road();
  auto later = record_of(records, "runner");
  later.verdict = EvidenceVerdict::kFail;
  records.push_back(later);
  EXPECT_EQ(row(judge(records, Require::kC2), "G12").state, State::kFailed);
}

// The release that was built again after its tests: nothing proven about build 1 counts for build 2.
TEST(GateJudge, ARebuiltPackageInheritsNoResults) {
  auto records = road('c');
  auto rebuilt = record_of(records, "pack");
  rebuilt.outputs.front().sha256 = digest('d');
  records.push_back(rebuilt);
  auto lint = record_of(records, "calbin-lint");
  lint.inputs.front().sha256 = digest('d');
  records.push_back(lint);

  const Report newest = judge(records, Require::kC2);
  EXPECT_EQ(newest.chain.at("calbin"), digest('d'));
  EXPECT_EQ(row(newest, "G11").state, State::kSatisfied);
  for (const char* id : {"G12", "G15", "G16", "D01"}) {
    EXPECT_EQ(row(newest, id).state, State::kStale) << id;
    EXPECT_THAT(row(newest, id).note, HasSubstr("made with calbin cccccccccccc")) << id;
  }
  EXPECT_EQ(newest.verdict, EvidenceVerdict::kIncomplete);
  EXPECT_EQ(judge(records, Require::kC2, {{"calbin", digest('c')}}).verdict, EvidenceVerdict::kPass);
}

TEST(GateJudge, ABaselineFrozenAfterPackingIsStale) {
  auto records = road();
  record_of(records, "runner").inputs[2].sha256 = digest('7');
  EXPECT_EQ(row(judge(records, Require::kC2), "G12").state, State::kStale);
}

TEST(GateJudge, GraphsOfAnotherModelAreStale) {
  auto records = road();
  record_of(records, "onnx-export").inputs.front().sha256 = digest('8');
  EXPECT_EQ(row(judge(records, Require::kC2), "G02").state, State::kStale);
}

// Triage reads no weights: what ties it to the model is its config.json.
TEST(GateJudge, ATriageOfAnotherModelsConfigIsStale) {
  auto records = road();
  record_of(records, "freeze-baseline").inputs[1] = {"model-config", "config.json", digest('a'), 1};
  record_of(records, "triage").inputs = {{"model-config", "config.json", digest('b'), 1}};
  EXPECT_EQ(row(judge(records, Require::kC2), "G00").state, State::kStale);
  record_of(records, "triage").inputs = {{"model-config", "config.json", digest('a'), 1}};
  EXPECT_EQ(row(judge(records, Require::kC2), "G00").state, State::kSatisfied);
}

TEST(GateJudge, RunsUnderAnotherServiceManifestAreStale) {
  auto records = road();
  record_of(records, "soak").inputs[1].sha256 = digest('6');
  EXPECT_EQ(row(judge(records, Require::kC2), "G16").state, State::kStale);
}

TEST(GateJudge, DigestsCompareWithAndWithoutTheirPrefix) {
  auto records = road();
  record_of(records, "runner").inputs.front().sha256 = "sha256:" + digest('c');
  EXPECT_EQ(judge(records, Require::kC2).verdict, EvidenceVerdict::kPass);
}

TEST(GateJudge, APackageOfAVendorWithoutAPackRecordIsFoundByItsLint) {
  auto records = road();
  std::erase_if(records, [](const auto& r) { return r.command == "pack"; });
  const Report report = judge(records, Require::kC2);
  EXPECT_EQ(report.chain.at("calbin"), digest('c'));
  EXPECT_EQ(row(report, "G09").state, State::kMissing);
  EXPECT_EQ(row(report, "G12").state, State::kSatisfied);
}

TEST(GateJudge, ARecordOfGateItselfProvesNothing) {
  auto records = road();
  records.push_back(make_record("gate", {}));
  EXPECT_EQ(judge(records, Require::kC2).records, road().size());
}

TEST(GateJudge, ATriageForOtherProductTargetsThanTheBaselinesIsStale) {
  auto records = road();
  const auto targets = [](int context) {
    return Value::object({{"context", context}, {"batch", 1}, {"kv_dtype", "f32"}, {"source", "flags"}});
  };
  record_of(records, "freeze-baseline").targets = targets(2048);
  record_of(records, "triage").targets = targets(4096);
  const Report other = judge(records, Require::kC2);
  EXPECT_EQ(row(other, "G00").state, State::kStale);
  EXPECT_THAT(row(other, "G00").note, HasSubstr("context"));
  record_of(records, "triage").targets = targets(2048);
  EXPECT_EQ(row(judge(records, Require::kC2), "G00").state, State::kSatisfied);
}

TEST(GateJudge, AVerifiedBaselineKeepsTheTieToItsModel) {
  auto records = road();
  records.push_back(make_record("freeze-baseline", {{"baseline", digest('2')}}));
  const Report report = judge(records, Require::kC2);
  EXPECT_EQ(report.chain.at("model-config"), digest('6'));
  EXPECT_EQ(row(report, "G01").state, State::kSatisfied);
}

TEST(GateCounts, ARecordThatDoesNotNameItsArtefactsDoesNotCount) {
  const std::pair<const char*, const char*> gates_of[] = {
      {"triage", "G00"},         {"freeze-baseline", "G01"}, {"onnx-export", "G02"},
      {"onnx-normalize", "G19"}, {"onnx-inventory", "G05"},  {"pack", "G09"},
      {"calbin-lint", "G11"},    {"runner", "G12"},          {"bench", "G15"},
      {"soak", "G16"},           {"export", "D01"}};
  for (const auto& [command, gate] : gates_of) {
    auto records = road();
    record_of(records, command).inputs.clear();
    EXPECT_NE(row(judge(records, Require::kC2), gate).state, State::kSatisfied) << command;
  }
}

TEST(GateCounts, ALintWithoutAServiceManifestDoesNotCount) {
  auto records = road();
  record_of(records, "calbin-lint").inputs.pop_back();
  const Report report = judge(records, Require::kC2);
  EXPECT_EQ(row(report, "G11").state, State::kIncomplete);
  EXPECT_THAT(row(report, "G11").note, HasSubstr("run calbin-lint with --service"));
}

TEST(GateCounts, APassWithFindingsOrWithoutAComparedPromptFails) {
  auto records = road();
  record_of(records, "runner").findings = {"3 steps differ"};
  EXPECT_EQ(row(judge(records, Require::kC2), "G12").state, State::kFailed);
  records = road();
  record_of(records, "runner").figures[1].value = 0.0;
  EXPECT_EQ(row(judge(records, Require::kC2), "G12").state, State::kFailed);
}

TEST(GateCounts, ARunOnNoDeviceDoesNotCount) {
  for (const auto& [command, gate] : {std::pair{"runner", "G12"}, {"bench", "G15"}, {"soak", "G16"}}) {
    auto records = road();
    record_of(records, command).device.kind = "none";
    EXPECT_EQ(row(judge(records, Require::kC2), gate).state, State::kIncomplete) << command;
  }
}

TEST(GateCounts, ARunnerWithOtherLimitsIsShownAndDoesNotCount) {
  auto records = road();
  auto& runner = record_of(records, "runner");
  runner.details = Value::object({{"limits", Value::object({{"source", "loose.yaml"}})}});
  EXPECT_EQ(row(judge(records, Require::kC2), "G12").state, State::kIncomplete);
  EXPECT_THAT(row(judge(records, Require::kC2), "G12").note, HasSubstr("loose.yaml"));
  runner.details = Value::object({{"limits", Value::object({{"source", "built in"}})}});
  EXPECT_EQ(row(judge(records, Require::kC2), "G12").state, State::kSatisfied);
  runner.inputs.push_back({"thresholds", "loose.yaml", digest('7'), 1});
  EXPECT_EQ(row(judge(records, Require::kC2), "G12").state, State::kIncomplete);
}

TEST(GateCounts, ALintOfChosenRulesDoesNotCount) {
  auto records = road();
  auto& lint = record_of(records, "calbin-lint");
  lint.details = Value::object({{"policy", Value::object({{"rules_left_out", Value::array({"CB0505"})}})}});
  EXPECT_EQ(row(judge(records, Require::kC2), "G11").state, State::kIncomplete);
  EXPECT_THAT(row(judge(records, Require::kC2), "G11").note, HasSubstr("1 rules were left out"));
  lint.details = Value::object({{"policy", Value::object({{"rules_left_out", Value::array()}})}});
  EXPECT_EQ(row(judge(records, Require::kC2), "G11").state, State::kSatisfied);
}

TEST(GateCounts, AnExportOfAnUnprovenPackageDoesNotCount) {
  auto records = road();
  record_of(records, "export").details = Value::object({{"unproven_allowed", true}});
  EXPECT_EQ(row(judge(records, Require::kC2), "D01").state, State::kIncomplete);
  record_of(records, "export").details = Value();
  EXPECT_EQ(row(judge(records, Require::kC2), "D01").state, State::kIncomplete);
}

TEST(GateFigures, ANullWhereANumberMustBeIsNoPass) {
  auto records = road();
  auto& runner = record_of(records, "runner");
  runner.figures[0].value.reset();
  runner.figures[0].how = "not finite";
  const Report report = judge(records, Require::kC2);
  EXPECT_EQ(row(report, "G12").state, State::kFailed);
  EXPECT_THAT(row(report, "G12").note, HasSubstr("logits_nmse_max is null"));
}

TEST(GateFigures, AMissingFigureANanAndAnEmptyListAreNoPass) {
  auto records = road();
  const auto runner = record_of(records, "runner");
  auto missing = runner;
  missing.figures.erase(missing.figures.begin());
  EXPECT_THAT(unusable_figures_reason(missing), HasSubstr("logits_nmse_max is missing"));
  auto nan = runner;
  nan.figures[0].value = std::nan("");
  EXPECT_THAT(unusable_figures_reason(nan), HasSubstr("not finite"));
  auto none = runner;
  none.figures.clear();
  EXPECT_THAT(unusable_figures_reason(none), HasSubstr("no figure that is a number"));
  auto silent = runner;
  silent.figures.push_back({"power_w", std::nullopt, "W", std::nullopt, ""});
  EXPECT_THAT(unusable_figures_reason(silent), HasSubstr("null without a reason"));
  EXPECT_EQ(unusable_figures_reason(runner), "");
}

// Five gate reports with the threshold 0.01: only the one with a number under it passes.
TEST(GateFigures, OnlyANumberUnderTheLimitIsWithinIt) {
  const std::pair<const char*, bool> reports[] = {{R"({"max_abs_error": null})", false},
                                                  {R"({"threshold": 0.01})", false},
                                                  {R"({"max_abs_error": "nan"})", false},
                                                  {R"({"max_abs_error": 0.02})", false},
                                                  {R"({"max_abs_error": 0.001})", true}};
  for (const auto& [text, expected] : reports) {
    const auto document = parse_json(text, "report.json");
    ASSERT_TRUE(document.ok());
    EXPECT_EQ(within(document->find("max_abs_error"), 0.01), expected) << text;
  }
  EXPECT_FALSE(parse_json(R"({"max_abs_error": NaN})", "report.json").ok());
}

TEST(GateReport, TheTableNamesTheRecordAndThatItWasEmulated) {
  const std::string text = to_text(judge(road(), Require::kC2));
  EXPECT_THAT(text, HasSubstr("runner-20260101T000000Z-00000000.json [emulated]"));
  EXPECT_THAT(text, HasSubstr("calbin cccccccccccc"));
}

TEST(GateReport, TheRecordHoldsTheDocumentAndTheCounts) {
  manifest::Evidence evidence;
  record(judge(road(), Require::kC2), evidence);
  EXPECT_EQ(evidence.verdict, EvidenceVerdict::kPass);
  EXPECT_EQ(*evidence.details.find("schema")->if_string(), "calkit.gate/1");
  EXPECT_EQ(evidence.figures.front().name, "gates_satisfied");
  EXPECT_EQ(*evidence.figures.front().value, 11.0);
}

}  // namespace
}  // namespace calkit::gate
