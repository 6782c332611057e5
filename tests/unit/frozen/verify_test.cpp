#include <gmock/gmock.h>

#include <cstdlib>
#include <limits>

#include "baseline_support.h"
#include "calkit/base/document.h"
#include "calkit/base/files.h"
#include "calkit/tensor/npz.h"

namespace calkit::frozen {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Reference& good_reference() {
  static const Reference reference = small_reference();
  return reference;
}

class VerifyTest : public testing::Test {
 protected:
  VerifyTest() { write_baseline(dir.path(), good_reference()); }
  /// Rewrites the reference and the sums, so that only the content is at fault.
  void rewrite(const Reference& reference) {
    fs::remove_all(dir / "reference");
    or_die(write_reference(dir.path(), reference, {}));
    or_die(seal(dir.path()));
  }
  std::vector<std::string> findings() const { return findings_of(dir.path()); }
  ScratchDir dir;
};

TEST_F(VerifyTest, AFreshBaselinePasses) {
  const auto report = or_die(verify(dir.path()));
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_EQ(report.prompts, 12u);
  EXPECT_EQ(report.files, 12u);
}

TEST_F(VerifyTest, MissingChangedAndExtraFilesAreTold) {
  fs::remove(dir / "model-source/generation_config.json");
  dir.write("reference/extra.txt", "x");
  dir.write("reference/coverage.json", dir.read("reference/coverage.json") + "\n");
  EXPECT_THAT(findings(),
              AllOf(Contains(AllOf(HasSubstr("model-source/generation_config.json"), HasSubstr("no such file"))),
                    Contains(AllOf(HasSubstr("reference/extra.txt"), HasSubstr("does not list"))),
                    Contains(AllOf(HasSubstr("reference/coverage.json"), HasSubstr("sha256")))));
}

TEST_F(VerifyTest, ASumsListWithCrLfIsToldAndStillChecked) {
  std::string crlf;
  for (const char c : dir.read("SHA256SUMS")) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  dir.write("SHA256SUMS", crlf);
  EXPECT_THAT(findings(), ElementsAre(HasSubstr("CR LF")));
}

TEST_F(VerifyTest, AFolderWithoutSumsIsNoVerdict) {
  fs::remove(dir / "SHA256SUMS");
  const auto report = verify(dir.path());
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().message, HasSubstr("SHA256SUMS"));
}

TEST_F(VerifyTest, AListThatLeadsOutsideIsToldAndNotFollowed) {
  dir.write("SHA256SUMS", std::string(64, '0') + "  ../secret\nnonsense\n" + dir.read("SHA256SUMS"));
  EXPECT_THAT(findings(), AllOf(Contains(HasSubstr("SHA256SUMS:1")), Contains(HasSubstr("SHA256SUMS:2"))));
}

TEST_F(VerifyTest, IdsThatTheTokenizerDoesNotGiveAreTold) {
  Reference changed = good_reference();
  changed.items[3].ids.back() ^= 1;
  rewrite(changed);
  EXPECT_THAT(findings(), ElementsAre(AllOf(HasSubstr("token_ids.npz"), HasSubstr(changed.items[3].prompt.id))));
}

TEST_F(VerifyTest, AMarginThatIsNotTop1MinusTop2IsTold) {
  Reference changed = good_reference();
  changed.items[3].greedy[4].margin += 0.01;
  rewrite(changed);
  EXPECT_THAT(findings(),
              ElementsAre(AllOf(HasSubstr("greedy_tokens.jsonl"), HasSubstr("step 4"), HasSubstr("margin"))));
}

TEST_F(VerifyTest, ATokenThatIsNotTheLargestIsTold) {
  Reference changed = good_reference();
  changed.items[3].greedy[4].token = changed.items[3].greedy[4].top_ids[1];
  rewrite(changed);
  EXPECT_THAT(findings(), ElementsAre(AllOf(HasSubstr("step 4"), HasSubstr("the largest logit's"))));
}

TEST_F(VerifyTest, LogitsThatDisagreeWithTheFirstStepAreTold) {
  Reference changed = good_reference();
  changed.items[3].logits[17] = 1000.0f;
  rewrite(changed);
  EXPECT_THAT(findings(), ElementsAre(AllOf(HasSubstr(changed.items[3].prompt.id), HasSubstr("arg-max"))));
  changed = good_reference();
  changed.items[3].logits[17] = std::numeric_limits<float>::infinity();
  rewrite(changed);
  EXPECT_THAT(findings(), Contains(HasSubstr("1 NaN or infinite")));
}

TEST_F(VerifyTest, MissingStepsAndLogitsAreTold) {
  Reference changed = good_reference();
  changed.items[3].greedy.clear();
  changed.items[4].logits.resize(7);
  rewrite(changed);
  EXPECT_THAT(findings(), AllOf(Contains(HasSubstr("no steps")), Contains(HasSubstr("7 values"))));
}

TEST_F(VerifyTest, ADigestChangedInTheManifestIsTold) {
  Value manifest = or_die(read_json(dir / "model-source/manifest.json"));
  manifest.find("inputs")->if_array()->front().set("sha256", "sha256:" + std::string(64, '0'));
  dir.write("model-source/manifest.json", to_json(manifest) + "\n");
  or_die(seal(dir.path()));
  EXPECT_THAT(findings(), ElementsAre(AllOf(HasSubstr("manifest.json"), HasSubstr("/inputs"))));
}

TEST_F(VerifyTest, CopiesAndWeightSumsAreHeldAgainstTheManifest) {
  dir.write("model-source/tokenizer/tokenizer_config.json", "{}");
  dir.write("model-source/weights.sha256", std::string(64, '1') + "  model.safetensors\n");
  or_die(seal(dir.path()));
  EXPECT_THAT(findings(),
              ElementsAre(AllOf(HasSubstr("tokenizer/tokenizer_config.json"), HasSubstr("as in manifest.json")),
                          HasSubstr("weights.sha256")));
}

TEST_F(VerifyTest, AnotherArchitectureRecordOrDtypeIsTold) {
  Value manifest = or_die(read_json(dir / "model-source/manifest.json"));
  manifest.find("spec")->set("layers", 6);
  dir.write("model-source/manifest.json", to_json(manifest) + "\n");
  or_die(seal(dir.path()));
  EXPECT_THAT(findings(), Contains(HasSubstr("/spec")));
  manifest.find("spec")->set("layers", 5);
  manifest.find("reference")->set("dtype", "bf16");
  dir.write("model-source/manifest.json", to_json(manifest) + "\n");
  or_die(seal(dir.path()));
  EXPECT_THAT(findings(), ElementsAre(HasSubstr("\"bf16\"")));
}

TEST_F(VerifyTest, CoverageAndProbesAreChecked) {
  Value cover = or_die(read_json(dir / "reference/coverage.json"));
  cover.set("prompts", 13);
  dir.write("reference/coverage.json", to_json(cover) + "\n");
  or_die(write_npz(dir / "reference/probes.npz",
                   {{"x", Tensor::of({1}, std::vector<float>{std::numeric_limits<float>::quiet_NaN()})}}));
  or_die(seal(dir.path()));
  EXPECT_THAT(findings(), AllOf(Contains(HasSubstr("coverage.json")), Contains(HasSubstr("probes.npz"))));
}

TEST_F(VerifyTest, TheSumsAreWhatSha256sumReads) {
  const std::string command = "cd '" + dir.path().string() + "' && sha256sum --strict --quiet -c SHA256SUMS";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace calkit::frozen
