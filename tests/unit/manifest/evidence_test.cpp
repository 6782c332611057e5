#include "calkit/manifest/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "calkit/base/files.h"
#include "calkit/base/hash.h"
#include "calkit/base/process.h"
#include "calkit/manifest/targets.h"
#include "scratch_dir.h"

namespace calkit::manifest {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::ScratchDir;

Evidence full_record(const ScratchDir& dir) {
  Evidence evidence = start_evidence("freeze-baseline", {"calkit", "freeze-baseline", "--out", "x\xFFy"});
  evidence.device.kind = "emulated";
  evidence.device.name = "emu";
  evidence.device.runtime_version = "0.7.6";
  evidence.inputs = {evidence_file("model", dir.write("in.bin", "abc")).value()};
  dir.write("out/a", "1");
  evidence.outputs = {evidence_file("baseline", dir / "out").value()};
  evidence.figures = {{"logits_nmse_max", 2.1e-13, "1", 192, "against the peer's goldens"},
                      {"steps", 3.0, "steps", {}, "counted"},
                      {"power_w", {}, "W", {}, "the emulated device has no power meter"}};
  evidence.verdict = EvidenceVerdict::kFail;
  evidence.findings = {"one thing", "another"};
  evidence.summary = "192 prompts";
  evidence.targets = to_value(ProductTargets{});
  evidence.details = Value::object({{"any", Value::array({1, 2.5, "x"})}});
  return evidence;
}

TEST(EvidenceRecord, ComesBackAsItWasWritten) {
  const ScratchDir dir;
  Evidence written = full_record(dir);
  const auto path = write_evidence(dir / "evidence", written);
  ASSERT_TRUE(path.ok()) << path.error().message;
  const auto read = read_evidence(*path);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->command, "freeze-baseline");
  EXPECT_EQ(read->device.kind, "emulated");
  EXPECT_EQ(read->device.runtime_version, "0.7.6");
  EXPECT_EQ(read->device.driver_version, std::nullopt);
  ASSERT_EQ(read->inputs.size(), 1u);
  EXPECT_EQ(read->inputs[0].sha256, sha256_hex("abc"));
  EXPECT_EQ(read->inputs[0].bytes, 3u);
  EXPECT_EQ(read->outputs[0].sha256, hash_tree(dir / "out")->sha256);
  ASSERT_EQ(read->figures.size(), 3u);
  EXPECT_EQ(read->figures[0].value, 2.1e-13);
  EXPECT_EQ(read->figures[0].n, 192u);
  EXPECT_EQ(read->figures[1].value, 3.0);
  EXPECT_EQ(read->figures[2].value, std::nullopt);
  EXPECT_EQ(read->verdict, EvidenceVerdict::kFail);
  EXPECT_THAT(read->findings, ElementsAre("one thing", "another"));
  EXPECT_EQ(read->targets, written.targets);
  EXPECT_EQ(read->details, written.details);
  EXPECT_EQ(read->argv[3], "x\xEF\xBF\xBDy");
  EXPECT_EQ(read->started_utc, written.started_utc);
  EXPECT_EQ(read->file, path->string());
}

TEST(EvidenceRecord, IsNamedAfterCommandTimeAndContent) {
  const ScratchDir dir;
  Evidence evidence = full_record(dir);
  const std::string name = write_evidence(dir / "evidence", evidence)->filename().string();
  EXPECT_THAT(name, ::testing::MatchesRegex("freeze-baseline-[0-9]+T[0-9]+Z-[0-9a-f]+\\.json"));
  EXPECT_EQ(name.substr(name.size() - 13, 8), sha256_hex(*read_file(dir / ("evidence/" + name))).substr(0, 8));
}

TEST(EvidenceRecord, HasNothingOfTheMachineOutsideEnv) {
  const ScratchDir dir;
  Evidence first = full_record(dir);
  Evidence second = full_record(dir);
  second.started_at -= std::chrono::seconds(5);
  Value one = read_json(*write_evidence(dir / "1", first)).value();
  Value two = read_json(*write_evidence(dir / "2", second)).value();
  EXPECT_NE(one, two);
  one.set("env", {});
  two.set("env", {});
  EXPECT_EQ(one, two);
}

TEST(EvidenceRecord, TurnsAFigureThatIsNotFiniteIntoNullWithAReason) {
  const ScratchDir dir;
  Evidence evidence = full_record(dir);
  evidence.figures = {{"a", std::nan(""), "1", {}, "over all steps"},
                      {"b", std::numeric_limits<double>::infinity(), "1", {}, "over all steps"}};
  const auto read = read_evidence(*write_evidence(dir / "e", evidence));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->figures[0].value, std::nullopt);
  EXPECT_EQ(read->figures[0].how, "the measured value was nan; over all steps");
  EXPECT_EQ(read->figures[1].how, "the measured value was inf; over all steps");
}

TEST(EvidenceRecord, NeedsAReasonForAFigureWithoutAValue) {
  const ScratchDir dir;
  Evidence evidence = full_record(dir);
  evidence.figures = {{"a", {}, "1", {}, ""}};
  EXPECT_EQ(write_evidence(dir / "e", evidence).error().kind, ErrorKind::kInternal);
  EXPECT_FALSE(fs::exists(dir / "e"));
}

TEST(EvidenceRecord, BetraysThatItWasEdited) {
  const ScratchDir dir;
  Evidence evidence = full_record(dir);
  const fs::path path = write_evidence(dir / "e", evidence).value();
  std::string text = *read_file(path);
  text.replace(text.find("\"fail\""), 6, "\"pass\"");
  ASSERT_TRUE(write_file(path, text).ok());
  EXPECT_THAT(read_evidence(path).error().hint, HasSubstr("changed after it was written"));
  EXPECT_FALSE(read_evidence_dir(dir / "e").ok());
}

TEST(EvidenceRecord, IsReadStrictly) {
  const ScratchDir dir;
  Evidence evidence = full_record(dir);
  const Value good = read_json(*write_evidence(dir / "e", evidence)).value();
  const auto refusal = [&](const std::function<void(Value&)>& change) {
    Value document = good;
    change(document);
    const auto read = read_evidence(dir.write("changed.json", to_json(document)));
    return read.ok() ? std::string("(accepted)") : read.error().message;
  };
  EXPECT_EQ(refusal([](Value&) {}), "(accepted)");
  EXPECT_THAT(refusal([](Value& d) { d.set("schema", "calkit.evidence/2"); }), HasSubstr("/schema: found"));
  EXPECT_THAT(refusal([](Value& d) { d.set("verdct", "pass"); }), HasSubstr("/verdct: found an unknown field"));
  EXPECT_THAT(refusal([](Value& d) { d.set("verdict", "Pass"); }), HasSubstr("allowed: pass | fail | incomplete"));
  EXPECT_THAT(refusal([](Value& d) { d.find("device")->set("kind", "board"); }), HasSubstr("/device/kind"));
  EXPECT_THAT(refusal([](Value& d) { (*d.find("inputs")->if_array())[0].set("sha256", "abc"); }),
              HasSubstr("64 lower-case hex"));
  EXPECT_THAT(refusal([](Value& d) { (*d.find("figures")->if_array())[0].set("value", "2.1"); }),
              HasSubstr("a finite number"));
  EXPECT_THAT(refusal([](Value& d) { (*d.find("figures")->if_array())[2].set("how", ""); }),
              HasSubstr("a null value without a reason"));
  EXPECT_THAT(refusal([](Value& d) { d.find("targets")->set("context", -1); }), HasSubstr("/targets/context"));
  EXPECT_THAT(refusal([](Value& d) { d.find("env")->set("started_utc", "yesterday"); }), HasSubstr("/env/started_utc"));
  for (const auto& [key, value] : *good.if_object()) {
    EXPECT_THAT(refusal([&key = key](Value& d) {
                  std::erase_if(*d.if_object(), [&](const auto& m) { return m.first == key; });
                }),
                HasSubstr("/" + key + ": required field missing"));
  }
}

TEST(EvidenceFolder, IsReadOldestFirstAndIgnoresOtherFiles) {
  const ScratchDir dir;
  for (const char* seconds : {"3000", "1000", "2000"}) {
    ::setenv("SOURCE_DATE_EPOCH", seconds, 1);
    Evidence evidence = start_evidence("triage", {seconds});
    ASSERT_TRUE(write_evidence(dir / "e", evidence).ok());
  }
  ::unsetenv("SOURCE_DATE_EPOCH");
  dir.write("e/notes.txt", "not a record");
  dir.write("e/report.json", "{}");
  const auto records = read_evidence_dir(dir / "e");
  ASSERT_TRUE(records.ok()) << records.error().message;
  ASSERT_EQ(records->size(), 3u);
  EXPECT_EQ((*records)[0].argv[0], "1000");
  EXPECT_EQ((*records)[2].argv[0], "3000");
  EXPECT_EQ(read_evidence_dir(dir / "none").error().kind, ErrorKind::kInput);
}

TEST(EvidenceSchema, ListsTheFieldsThatTheWriterWrites) {
  const ScratchDir dir;
  Evidence evidence = full_record(dir);
  const Value record = read_json(*write_evidence(dir / "e", evidence)).value();
  const auto schema = read_json(CALKIT_SOURCE_DIR "/manifests/schemas/evidence.schema.json");
  ASSERT_TRUE(schema.ok()) << schema.error().message;
  const auto keys = [](const Value& object) {
    std::vector<std::string> names;
    for (const auto& [name, member] : *object.if_object()) names.push_back(name);
    std::sort(names.begin(), names.end());
    return names;
  };
  EXPECT_EQ(keys(*schema->find("properties")), keys(record));
  const Value& definitions = *schema->find("definitions");
  EXPECT_EQ(keys(*definitions.find("figure")->find("properties")), keys((*record.find("figures")->if_array())[0]));
  EXPECT_EQ(keys(*definitions.find("file")->find("properties")), keys((*record.find("inputs")->if_array())[0]));
  EXPECT_EQ(keys(*definitions.find("device")->find("properties")), keys(*record.find("device")));
  EXPECT_EQ(keys(*definitions.find("env")->find("properties")), keys(*record.find("env")));
}

}  // namespace
}  // namespace calkit::manifest
