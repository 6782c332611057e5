#include "calkit/runner/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace calkit::runner {
namespace {

using testing::HasSubstr;

TEST(RunnerLimits, TheBuiltInOnesAreThoseOfTheFileInManifests) {
  for (const char* dtype : {"fp32", "bf16"}) {
    const auto built_in = default_limits(dtype);
    const auto file = read_limits(std::string(CALKIT_SOURCE_DIR) + "/manifests/thresholds/runner.yaml", dtype);
    ASSERT_TRUE(built_in.ok()) << built_in.error().message;
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(built_in->nmse, file->nmse);
    EXPECT_EQ(built_in->source, "built in");
    EXPECT_FALSE(built_in->reason.empty());
    EXPECT_EQ(built_in->status, "C2");
  }
  EXPECT_EQ(default_limits("fp32")->nmse, 1e-9);
  EXPECT_EQ(default_limits("fp32")->margin, 1e-3);
  EXPECT_EQ(default_limits("fp32")->excused_share, 0.01);
}

class LimitsFile : public testing::Test {
 protected:
  void SetUp() override { path_ = testing::TempDir() + "limits-" + std::to_string(::getpid()) + ".yaml"; }
  void TearDown() override { ::unlink(path_.c_str()); }
  Result<Limits> read(const std::string& body, const std::string& dtype = "fp32") {
    std::ofstream(path_) << body;
    return read_limits(path_, dtype);
  }
  const std::string head_ = "schema: calkit.thresholds/1\ncommand: runner\nowner: us\nstatus: C2\nlimits:\n";
  std::string path_;
};

TEST_F(LimitsFile, AGoodFileIsRead) {
  const auto limits = read(head_ + "  fp32: {nmse: 0.5, margin: 2, excused_share: 0, reason: because}\n");
  ASSERT_TRUE(limits.ok()) << limits.error().message;
  EXPECT_EQ(limits->nmse, 0.5);
  EXPECT_EQ(limits->margin, 2);
}

TEST_F(LimitsFile, UnknownKeysMissingDtypesAndLimitsOutOfRangeAreRefused) {
  EXPECT_FALSE(read(head_ + "  fp32: {nmse: 0.5, margin: 2, excused_share: 0, reason: because, slack: 1}\n").ok());
  EXPECT_FALSE(read(head_ + "  bf16: {nmse: 0.5, margin: 2, excused_share: 0, reason: because}\n").ok());
  EXPECT_FALSE(read(head_ + "  fp32: {nmse: -1, margin: 2, excused_share: 0, reason: because}\n").ok());
  EXPECT_FALSE(read(head_ + "  fp32: {nmse: 0.5, margin: 2, excused_share: 1.5, reason: because}\n").ok());
  EXPECT_FALSE(read(head_ + "  fp32: {nmse: 0.5, margin: 2, excused_share: 0, reason: \"\"}\n").ok());
  EXPECT_FALSE(read("schema: calkit.thresholds/2\ncommand: runner\nowner: us\nstatus: C2\nlimits: {}\n").ok());
}

calbin::Description package() {
  calbin::Description d;
  d.model.config_digest = "sha256:aa";
  d.model.tokenizer_digest = "sha256:bb";
  d.model.vocab = 64;
  return d;
}
frozen::ModelSource source() {
  frozen::ModelSource s;
  s.config_sha256 = "aa";
  s.tokenizer_sha256 = "bb";
  s.spec.vocab = 64;
  return s;
}

TEST(RunnerSameModel, DigestsMatchWithAndWithoutTheirPrefix) {
  EXPECT_TRUE(check_same_model(package(), "p", source(), "b").ok());
}

TEST(RunnerSameModel, SwappedModelsAreNamedWithBothDigests) {
  auto other = source();
  other.config_sha256 = "cc";
  const Status status = check_same_model(package(), "p.calbin", other, "base");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::kInput);
  EXPECT_THAT(status.error().message, HasSubstr("p.calbin: /model/config_digest: found sha256:aa; allowed: cc"));
}

TEST(RunnerSameModel, AnotherTokenizerAndAnotherVocabularyAreRefused) {
  auto tokenizer = source();
  tokenizer.tokenizer_sha256 = "cc";
  EXPECT_FALSE(check_same_model(package(), "p", tokenizer, "b").ok());
  auto vocab = source();
  vocab.spec.vocab = 65;
  EXPECT_THAT(check_same_model(package(), "p", vocab, "b").error().message,
              HasSubstr("/model/vocab: found 64; allowed: 65"));
}

frozen::ReferenceItem item(const std::string& id, std::vector<std::int32_t> ids, float logit) {
  frozen::ReferenceItem out;
  out.prompt.id = id;
  out.ids = std::move(ids);
  out.logits = {logit, 0};
  return out;
}

TEST(RunnerPeer, TheSharedPromptsTakeThePeersValues) {
  frozen::Reference base, peer;
  base.items = {item("a", {1, 2}, 1), item("b", {3}, 1)};
  peer.items = {item("c", {9}, 2), item("a", {1, 2}, 2)};
  const auto got = expected_from_peer(base, peer);
  ASSERT_TRUE(got.ok());
  ASSERT_EQ(got->items.size(), 1u);
  EXPECT_EQ(got->items[0].logits[0], 2);
}

TEST(RunnerPeer, OtherTokenIdsOrNoSharedPromptAreErrors) {
  frozen::Reference base, peer;
  base.items = {item("a", {1, 2}, 1)};
  peer.items = {item("a", {1, 3}, 2)};
  EXPECT_THAT(expected_from_peer(base, peer).error().message, HasSubstr("prompt 'a'"));
  peer.items = {item("z", {1, 2}, 2)};
  EXPECT_THAT(expected_from_peer(base, peer).error().message, HasSubstr("share no prompt"));
}

RunReport report() {
  RunReport r;
  r.runtime.name = "emu";
  r.runtime.emulated = true;
  r.expected_from = "peer";
  r.limits.dtype = "fp32";
  r.limits.source = "built in";
  r.comparison.prompts.resize(2);
  r.comparison.steps = r.comparison.equal = 8;
  r.comparison.nmse_max = 2.5e-13;
  return r;
}

TEST(RunnerRecord, AnEmulatedRunSaysSoEverywhere) {
  manifest::Evidence evidence;
  record(report(), evidence);
  EXPECT_EQ(evidence.device.kind, "emulated");
  EXPECT_FALSE(evidence.device.firmware_version.has_value());
  EXPECT_EQ(evidence.verdict, manifest::EvidenceVerdict::kPass);
  EXPECT_THAT(evidence.summary, HasSubstr("[emulated]"));
  EXPECT_THAT(to_text(report()), HasSubstr("emulated"));
  EXPECT_EQ(*evidence.details.find("device")->find("kind")->if_string(), "emulated");
}

TEST(RunnerRecord, LimitsThatAreNotBuiltInAreNamedInTheSummary) {
  auto r = report();
  manifest::Evidence built_in, own;
  record(r, built_in);
  EXPECT_THAT(built_in.summary, testing::Not(HasSubstr("limits from")));
  r.limits.source = "wide.yaml";
  record(r, own);
  EXPECT_THAT(own.summary, HasSubstr(", limits from wide.yaml [emulated]"));
}

TEST(RunnerRecord, AFigureThatIsUndefinedIsNullWithAReason) {
  auto r = report();
  r.comparison.nmse_max.reset();
  r.comparison.findings = {"prompt 'a' step 0: all NaN"};
  manifest::Evidence evidence;
  record(r, evidence);
  EXPECT_EQ(evidence.verdict, manifest::EvidenceVerdict::kFail);
  for (const auto& figure : evidence.figures)
    if (figure.name == "logits_nmse_max") {
      EXPECT_FALSE(figure.value.has_value());
      EXPECT_THAT(figure.how, HasSubstr("undefined"));
    }
}

}  // namespace
}  // namespace calkit::runner
