// Checkpoints to refuse, to flag or to accept: what the readers of this module say to each. The whole of a freeze is in
// unit/frozen/refuse_test.cpp, logits in unit/baseline/refuse_goldens_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "calkit/hf/checkpoint.h"
#include "calkit/hf/tokenizer.h"
#include "calkit/hf/triage.h"
#include "checkpoint_support.h"
#include "refuse_cases.h"

namespace calkit::hf {
namespace {

using testing::HasSubstr;
using testing_support::refuse_cases;
using testing_support::RefuseCase;

/// Configuration, headers, shapes, values: what is said to a folder without its tokenizer.
std::string verdict(const std::filesystem::path& dir) {
  const auto spec = read_spec(dir);
  if (!spec.ok()) return spec.error().message;
  const auto weights = Checkpoint::open(dir);
  if (!weights.ok()) return weights.error().message;
  if (const Status status = weights->check_against(*spec); !status.ok()) return status.error().message;
  return message_of(weights->check_finite());
}

const RefuseCase& case_of(std::string_view name) {
  for (const RefuseCase& c : refuse_cases())
    if (c.name == name) return c;
  ADD_FAILURE() << "no case " << name;
  return refuse_cases().front();
}

std::vector<std::string> notes_of(std::string_view name) {
  const auto& dir = case_of(name).dir;
  const auto spec = read_spec(dir);
  const auto weights = Checkpoint::open(dir);
  EXPECT_TRUE(spec.ok() && weights.ok()) << name;
  std::vector<std::string> out = spec->notes;
  for (std::string& note : weights->notes(*spec)) out.push_back(std::move(note));
  return out;
}

/// A place as messages have it: "rope_scaling.type" -> "/rope_scaling/type", "model.layers.1.*" -> its start.
std::string place_of(const RefuseCase& c) {
  if (c.group != "config" && c.group != "arch") return c.field.substr(0, c.field.find('*'));
  std::string out = c.field.empty() ? "config.json" : "/" + c.field;
  std::replace(out.begin(), out.end(), '.', c.field.empty() ? '.' : '/');
  return out;
}

TEST(RefuseFixtures, TheArchiveIsComplete) {
  std::map<std::string, int> groups;
  for (const RefuseCase& c : refuse_cases()) ++groups[c.expect];
  EXPECT_EQ(groups["accept"], 18);
  EXPECT_EQ(groups["refuse"], 87);
  EXPECT_EQ(groups["warn"], 9);
  EXPECT_EQ(groups["either"], 12);
}

TEST(RefuseFixtures, GoodCheckpointsAreAccepted) {
  for (const RefuseCase& c : refuse_cases())
    if (c.expect == "accept") {
      EXPECT_EQ(verdict(c.dir), "accepted") << c.name;
    }
}

TEST(RefuseFixtures, BadCheckpointsAreRefusedByTheirField) {
  for (const RefuseCase& c : refuse_cases()) {
    if (c.expect != "refuse" || c.group == "tokenizer") continue;
    EXPECT_THAT(verdict(c.dir), testing::AllOf(testing::Ne("accepted"), HasSubstr(place_of(c)))) << c.name;
  }
}

TEST(RefuseFixtures, WhatNeedsCareIsTakenWithANoteOrRefused) {
  const std::map<std::string, std::string> noted = {
      {"arch-mismatch", "architectures"},        {"auto-map", "auto_map"},
      {"ix-duplicate-tensor", "lm_head.weight"}, {"ix-total-size-wrong", "total_size"},
      {"ix-unlisted-tensor", "does not list"},   {"rope-partial", "/partial_rotary_factor"}};
  // Which of two contents is meant is nowhere stated.
  const std::map<std::string, std::string> refused = {{"ix-both-single-and-index", "model.safetensors.index.json"},
                                                      {"w-tied-different-lm_head", "lm_head.weight"}};
  for (const RefuseCase& c : refuse_cases()) {
    if (c.expect != "warn" || c.group == "tokenizer") continue;
    if (const auto word = noted.find(c.name); word != noted.end()) {
      EXPECT_EQ(verdict(c.dir), "accepted") << c.name;
      EXPECT_THAT(notes_of(c.name), testing::Contains(HasSubstr(word->second))) << c.name;
    } else {
      ASSERT_TRUE(refused.contains(c.name)) << c.name;
      EXPECT_THAT(verdict(c.dir), HasSubstr(refused.at(c.name))) << c.name;
    }
  }
}

TEST(RefuseFixtures, WhatMayBeSupportedOrRefusedIsNeverIgnored) {
  const std::set<std::string> refused = {"act-gelu", "w-dtype-f64", "w-prefix-missing"};
  for (const RefuseCase& c : refuse_cases()) {
    if (c.expect != "either" || c.group == "tokenizer") continue;
    if (refused.contains(c.name))
      EXPECT_THAT(verdict(c.dir), HasSubstr(place_of(c))) << c.name;
    else
      EXPECT_EQ(verdict(c.dir), "accepted") << c.name;
  }
  const auto type_of = [](std::string_view name) { return read_spec(case_of(name).dir)->rope.type; };
  EXPECT_EQ(type_of("rope-linear"), "linear");
  EXPECT_EQ(type_of("rope-linear-legacy-key"), "linear");
  EXPECT_EQ(type_of("rope-dynamic"), "dynamic");
  EXPECT_EQ(type_of("rope-yarn"), "yarn");
  EXPECT_TRUE(read_spec(case_of("bias-llama-attention").dir)->o_bias);
  EXPECT_TRUE(read_spec(case_of("bias-llama-mlp").dir)->mlp_bias);
}

TEST(RefuseFixtures, WhatIsOddInAGoodCheckpointIsNoted) {
  using testing::Contains;
  EXPECT_THAT(notes_of("ok-mixed-dtypes"), Contains(HasSubstr("3 in F32")));
  EXPECT_THAT(notes_of("ok-llama-old-config"),
              testing::IsSupersetOf({HasSubstr("num_key_value_heads"), HasSubstr("head_dim"), HasSubstr("rope_theta"),
                                     HasSubstr("1 rotary_emb.inv_freq tensor is")}));
  EXPECT_THAT(notes_of("ok-tied-with-equal-lm_head"), Contains(HasSubstr("second time as lm_head.weight")));
  EXPECT_THAT(notes_of("ok-llama-tied"), Contains(HasSubstr("the head is model.embed_tokens.weight")));
  EXPECT_THAT(notes_of("ok-llama-untied"), testing::IsEmpty());
  EXPECT_THAT(notes_of("ok-qwen3-untied"), testing::IsEmpty());
}

TEST(RefuseFixtures, TokenizersThatCannotBeFollowedAreRefused) {
  for (const RefuseCase& c : refuse_cases()) {
    if (c.group != "tokenizer" || c.expect != "refuse" || c.name == "tok-unigram") continue;  // Unigram is read now
    const auto tokenizer = Tokenizer::load(c.dir / "tokenizer.json");
    if (c.name == "tok-vocab-larger") {
      ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
      const auto config = read_json(c.dir / "config.json");
      EXPECT_GE(tokenizer->max_id(), *config->find("vocab_size")->if_int()) << "seen by whoever has both";
      continue;
    }
    EXPECT_NE(message_of(tokenizer), "accepted") << c.name;
  }
}

TEST(RefuseFixtures, TriageJudgesEveryReadableOneAndFailsTheRightRule) {
  const std::map<std::string, std::string> rule_of = {{"arch-classifier", "dense-decoder"},
                                                      {"arch-gemma2", "sliding-window"},
                                                      {"arch-gpt-oss", "plain-attention"},
                                                      {"arch-gpt2", "rms-norm"},
                                                      {"arch-mamba", "dense-decoder"},
                                                      {"arch-mixtral", "dense-decoder"},
                                                      {"arch-phi3", "swiglu"},
                                                      {"arch-qwen2-moe", "dense-decoder"},
                                                      {"arch-t5", "dense-decoder"},
                                                      {"arch-unknown", "dense-decoder"},
                                                      {"auto-map", "plain-attention"},
                                                      {"heads-not-divisible", "gqa"},
                                                      {"act-gelu", "swiglu"},
                                                      {"mla-deepseek-v2", "no-mla"},
                                                      {"mla-deepseek-v3", "no-mla"},
                                                      {"quantization-config", "float-weights"},
                                                      {"rope-longrope", "rope"},
                                                      {"rope-mrope", "rope"},
                                                      {"rope-unknown-type", "rope"},
                                                      {"rope-partial", "rope"},
                                                      {"sliding-window-layer-types", "sliding-window"},
                                                      {"sliding-window-mistral", "sliding-window"},
                                                      {"sliding-window-qwen2", "sliding-window"},
                                                      {"vision-llava", "text-only"},
                                                      {"vision-qwen2_5-vl", "text-only"},
                                                      {"vocab-151937", "vocab"},
                                                      {"w-dtype-f8", "float-weights"},
                                                      {"w-dtype-i8", "float-weights"}};
  const auto device = manifest::default_device_profile();
  ASSERT_TRUE(device.ok());
  manifest::ProductTargets targets;
  targets.context = 256;
  std::size_t judged = 0;
  for (const RefuseCase& c : refuse_cases()) {
    const auto report = triage(c.dir, targets, *device);
    std::set<std::string> failed;
    if (report.ok())
      for (const TriageRule& rule : report->rules)
        if (rule.verdict == Verdict::kFail) failed.insert(rule.id);
    if (const auto want = rule_of.find(c.name); want != rule_of.end()) {
      ASSERT_TRUE(report.ok()) << c.name << ": " << report.error().message;
      EXPECT_TRUE(failed.contains(want->second)) << c.name << ":\n" << to_text(*report);
      ++judged;
    }
    if (c.expect == "accept") {
      EXPECT_TRUE(report.ok() && failed.empty()) << c.name << ":\n"
                                                 << (report.ok() ? to_text(*report) : report.error().message);
    }
  }
  EXPECT_EQ(judged, rule_of.size());
}

}  // namespace
}  // namespace calkit::hf
