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
    write_answers(dir.path(), reference);
    or_die(seal(dir.path()));
  }
  std::vector<std::string> findings() const { return findings_of(dir.path()); }
  ScratchDir dir;
};

TEST_F(VerifyTest, AFreshBaselinePasses) {
  const auto report = or_die(verify(dir.path()));
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_EQ(report.prompts, 12u);
  EXPECT_EQ(report.files, 13u);
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

// Somebody who computed all digests anew.
class ResealedTest : public VerifyTest {
 protected:
  Value manifest() const { return or_die(read_json(dir / "model-source/manifest.json")); }
  std::vector<std::string> with(const Value& changed) {
    dir.write("model-source/manifest.json", to_json(changed) + "\n");
    return resealed();
  }
  std::vector<std::string> resealed() {
    or_die(seal(dir.path()));
    return findings();
  }
  std::vector<std::string> with_noise(const Value& noise) {
    dir.write("reference/noise.json", to_json(noise) + "\n");
    return resealed();
  }
};

TEST_F(ResealedTest, FactsThatTheFrozenFilesDoNotGiveAreToldByField) {
  Value changed = manifest();
  changed.set("stop_ids", Value::list(std::vector<int>{1, 2, 3}));
  EXPECT_THAT(with(changed), ElementsAre(AllOf(HasSubstr("/stop_ids: [1,2,3]"), HasSubstr("as the frozen files"))));
  changed = manifest();
  changed.set("stop_ids", Value::list(tiny_source().stop_ids));
  changed.find("kv_bytes_per_token")->set("bf16", 7);
  EXPECT_THAT(with(changed), ElementsAre(HasSubstr("/kv_bytes_per_token/bf16: 7; wanted ")));
  changed.set("kv_bytes_per_token", *tiny_source().manifest.find("kv_bytes_per_token"));
  changed.find("weights")->set("parameters", 12);
  EXPECT_THAT(with(changed), ElementsAre(HasSubstr("/weights/parameters: 12; wanted ")));
  changed.set("weights", *tiny_source().manifest.find("weights"));
  Value tokenizer = *changed.find("tokenizer");
  changed.find("tokenizer")->find("special_tokens")->set("pad", Value::array());
  changed.find("tokenizer")->set("max_id", 3);
  EXPECT_THAT(with(changed), testing::UnorderedElementsAre(HasSubstr("/tokenizer/max_id: 3"),
                                                           HasSubstr("/tokenizer/special_tokens/pad")));
  changed.set("tokenizer", tokenizer);
  EXPECT_THAT(with(changed), IsEmpty());
}

TEST_F(ResealedTest, TensorsThatTheArchitectureDoesNotHaveAreTold) {
  const Value good = manifest();
  Value changed = good;
  auto& tensors = *changed.find("tensors")->if_array();
  tensors[1].set("name", tensors[1].find("name")->if_string()->substr(1));
  EXPECT_THAT(with(changed), testing::Not(IsEmpty()));
  changed = good;
  Value& shape = *changed.find("tensors")->if_array()->front().find("shape");
  std::swap(shape.if_array()->front(), shape.if_array()->back());
  EXPECT_THAT(with(changed), ElementsAre(AllOf(HasSubstr("manifest.json"), HasSubstr("found shape"))));
  changed = good;
  changed.find("tensors")->if_array()->front().set("bytes", 4);
  EXPECT_THAT(with(changed), Contains(HasSubstr("4 bytes for shape")));
  changed = good;
  changed.find("tensors")->if_array()->pop_back();
  EXPECT_THAT(with(changed), Contains(HasSubstr("absent")));
  changed = good;
  changed.find("tensors")->if_array()->front().set("file", "other.safetensors");
  EXPECT_THAT(with(changed), Contains(HasSubstr("other.safetensors")));
  EXPECT_THAT(with(good), IsEmpty());
}

TEST_F(ResealedTest, AFieldOfTheArchitectureIsNamed) {
  Value changed = manifest();
  changed.find("spec")->set("rms_eps", 0.5);
  EXPECT_THAT(with(changed), Contains(HasSubstr("/spec/rms_eps")));
}

TEST_F(ResealedTest, ADeletedOrInventedNoiseIsTold) {
  fs::remove(dir / "reference/noise.json");
  EXPECT_THAT(resealed(), ElementsAre(HasSubstr("noise.json")));
  Value noise = no_noise(good_reference());
  noise.set("null_reason", Value());
  EXPECT_THAT(with_noise(noise), ElementsAre(HasSubstr("neither runs nor a null_reason")));
  const Value prompt = Value::object({{"id", good_reference().items[3].prompt.id},
                                      {"nmse", 1e-9},
                                      {"max_abs", 0.5},
                                      {"max_abs_index", 3},
                                      {"top_1_equal", true}});
  Value run =
      Value::object({{"how", "x"}, {"nmse_max", 1e-9}, {"max_abs_max", 0.5}, {"prompts", Value::array({prompt})}});
  noise.set("runs", Value::array({run}));
  EXPECT_THAT(with_noise(noise), IsEmpty());
  run.set("max_abs_max", 0.25);
  noise.set("runs", Value::array({run}));
  EXPECT_THAT(with_noise(noise), ElementsAre(HasSubstr("max_abs_max 0.25")));
}

TEST_F(ResealedTest, OddProbesAreTold) {
  const auto probed = [&](auto change) {
    auto probes = some_probes(good_reference());
    change(probes);
    or_die(write_npz(dir / "reference/probes.npz", probes));
    return resealed();
  };
  const Tensor one = Tensor::of({1}, std::vector<float>{1.0f});
  EXPECT_THAT(probed([&](auto& probes) { probes.emplace_back("more", one); }), ElementsAre(HasSubstr("array more")));
  EXPECT_THAT(probed([&](auto& probes) { probes[1].second = one; }), ElementsAre(HasSubstr("f32 [1] in embed")));
  EXPECT_THAT(probed([&](auto& probes) { probes.pop_back(); }), ElementsAre(HasSubstr("no array final_norm")));
  EXPECT_THAT(probed([&](auto& probes) { probes[0].second = Tensor::of({1}, std::vector<std::int64_t>{7}); }),
              Contains(HasSubstr("in token_ids; wanted the i64 ids of one of the prompts")));
  EXPECT_THAT(probed([&](auto& probes) { probes.clear(); }), testing::SizeIs(testing::Ge(2u)));
  EXPECT_THAT(probed([](auto&) {}), IsEmpty());
}

TEST_F(ResealedTest, ARepeatedTopIdIsTold) {
  Reference changed = good_reference();
  auto& step = changed.items[3].greedy[4];
  step.top_ids[7] = step.top_ids[2];
  rewrite(changed);
  EXPECT_THAT(findings(), ElementsAre(AllOf(HasSubstr("step 4"), HasSubstr("an id twice"))));
}

TEST_F(ResealedTest, AShorterRunIsTold) {
  Reference changed = good_reference();
  changed.items[4].greedy.pop_back();
  rewrite(changed);
  EXPECT_THAT(findings(), ElementsAre(AllOf(HasSubstr(changed.items[4].prompt.id), HasSubstr("15 steps; wanted 16"))));
}

TEST_F(ResealedTest, ARouterMarginOfADenseModelIsTold) {
  Reference changed = good_reference();
  changed.items[4].greedy[2].router_margin = 0.001;
  rewrite(changed);
  EXPECT_THAT(findings(), ElementsAre(HasSubstr("step 2: a router_margin")));
}

TEST_F(VerifyTest, TheSumsAreWhatSha256sumReads) {
  const std::string command = "cd '" + dir.path().string() + "' && sha256sum --strict --quiet -c SHA256SUMS";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace calkit::frozen
