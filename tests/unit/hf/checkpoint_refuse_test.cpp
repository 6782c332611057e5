// Checkpoints to refuse or to accept, collected in one archive; each case says what must happen and which field is at
// fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "calkit/base/archive.h"
#include "calkit/hf/checkpoint.h"
#include "calkit/hf/tokenizer.h"
#include "calkit/hf/triage.h"
#include "checkpoint_support.h"

namespace calkit::hf {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

struct Case {
  std::string name, group, expect, field;
  fs::path dir;
};

/// Unpacks the archive once for all tests.
const std::vector<Case>& cases() {
  static const testing_support::ScratchDir dir;
  static const std::vector<Case> all = [] {
    const Status unpacked = read_tar_zst(
        CALKIT_TEST_DATA "/refuse.tar.zst",
        [](const std::string& path, std::uint64_t bytes, const EntryReader& reader) -> Status {
          std::string content(bytes, '\0');
          std::size_t at = 0;
          while (at < content.size()) {
            CALKIT_TRY(const std::size_t got, reader(std::as_writable_bytes(std::span(content).subspan(at))));
            if (got == 0) return Error(ErrorKind::kInput, path + " is short");
            at += got;
          }
          dir.write(path, content);
          return {};
        });
    EXPECT_EQ(message_of(unpacked), "accepted");
    std::vector<Case> out;
    for (const auto& folder : fs::directory_iterator(dir.path())) {
      const auto expect = read_json(folder.path() / "expect.json");
      EXPECT_TRUE(expect.ok());
      const auto text = [&](const char* key) {
        const Value* value = expect->find(key);
        return value != nullptr && value->if_string() != nullptr ? *value->if_string() : std::string();
      };
      out.push_back({text("case"), text("group"), text("expect"), text("field"), folder.path()});
    }
    return out;
  }();
  return all;
}

/// Reads a model folder as freeze-baseline does: configuration, weights, values, tokenizer.
std::string verdict(const fs::path& dir) {
  const auto spec = read_spec(dir);
  if (!spec.ok()) return spec.error().message;
  const auto weights = Checkpoint::open(dir);
  if (!weights.ok()) return weights.error().message;
  if (const Status status = weights->check_against(*spec); !status.ok()) return status.error().message;
  if (const Status status = weights->check_finite(); !status.ok()) return status.error().message;
  return message_of(Tokenizer::load(dir / "tokenizer.json"));
}

/// The same configuration claimed to be Qwen3, so that a fault written for another family reaches the check it is
/// about.
Result<Value> as_qwen3(const fs::path& dir) {
  CALKIT_TRY(Value config, read_json(dir / "config.json"));
  const Value* type = config.find("model_type");
  const std::set<std::string> families = {"llama", "qwen2", "mistral"};
  if (type == nullptr || type->if_string() == nullptr || !families.contains(*type->if_string())) return config;
  config.set("model_type", "qwen3");
  Value* names = config.find("architectures");
  const std::set<std::string> causal = {"LlamaForCausalLM", "Qwen2ForCausalLM", "MistralForCausalLM"};
  if (names != nullptr && causal.contains(*names->if_array()->front().if_string()))
    *names = Value::array({"Qwen3ForCausalLM"});
  if (const Value* width = config.find("head_dim"); width == nullptr || width->is_null()) config.set("head_dim", 8);
  std::erase_if(*config.if_object(), [](const Value::Member& m) { return m.first == "pretraining_tp"; });
  return config;
}

/// "rope_scaling.type" -> "/rope_scaling/type"
std::string last_part(const std::string& field) {
  return field.substr(field.rfind('.') + 1);
}

TEST(RefuseFixtures, TheArchiveIsComplete) {
  std::map<std::string, int> groups;
  for (const Case& c : cases()) ++groups[c.expect];
  EXPECT_EQ(groups["accept"], 18);
  EXPECT_EQ(cases().size(), 126u);
}

// Good checkpoints of families that this version does not take yet; each must be refused by its model_type.
const std::set<std::string> kNotTakenYet = {"ok-add-prefix-space",
                                            "ok-header-padding-metadata",
                                            "ok-llama-old-config",
                                            "ok-llama-tied",
                                            "ok-llama-untied",
                                            "ok-merges-as-strings",
                                            "ok-mistral-untied",
                                            "ok-mixed-dtypes",
                                            "ok-padded-vocab",
                                            "ok-qwen2-tied",
                                            "ok-qwen2-untied",
                                            "ok-qwen2-window-switched-off",
                                            "ok-rope-parameters-dialect",
                                            "ok-sharded",
                                            "ok-tied-with-equal-lm_head",
                                            "ok-vocab-151936"};

TEST(RefuseFixtures, GoodCheckpointsAreAcceptedOrRefusedByFamily) {
  for (const Case& c : cases()) {
    if (c.expect != "accept") continue;
    if (kNotTakenYet.contains(c.name))
      EXPECT_THAT(verdict(c.dir), HasSubstr("/model_type")) << c.name;
    else
      EXPECT_EQ(verdict(c.dir), "accepted") << c.name;
  }
}

TEST(RefuseFixtures, BadCheckpointsAreRefused) {
  for (const Case& c : cases())
    if (c.expect == "refuse") {
      EXPECT_NE(verdict(c.dir), "accepted") << c.name;
    }
}

TEST(RefuseFixtures, OtherArchitecturesAreRefusedByTheFieldThatSaysSo) {
  for (const Case& c : cases())
    if (c.group == "arch" && c.expect == "refuse") {
      EXPECT_THAT(verdict(c.dir),
                  testing::AnyOf(HasSubstr("/" + c.field), HasSubstr("/num_experts"), HasSubstr("/num_local_experts")))
          << c.name;
    }
}

TEST(RefuseFixtures, AFaultyConfigurationIsRefusedByItsField) {
  // Good in other families, or a limit that triage holds and not the reader.
  const std::set<std::string> elsewhere = {"vocab-151937", "arch-mismatch", "ok-llama-old-config"};
  for (const Case& c : cases()) {
    if (c.group != "config" || elsewhere.contains(c.name)) continue;
    const auto config = as_qwen3(c.dir);
    const std::string got =
        config.ok() ? message_of(parse_spec(Cursor(*config, "config.json"))) : config.error().message;
    if (c.expect == "accept")
      EXPECT_EQ(got, "accepted") << c.name;
    else
      EXPECT_THAT(got, HasSubstr(c.field.empty() ? "config.json" : last_part(c.field))) << c.name;
  }
}

TEST(RefuseFixtures, FaultyWeightsAreRefusedByTheirTensor) {
  const std::set<std::string> other_rules = {
      "ok-mixed-dtypes",       // one element type in this version
      "w-missing-bias-qwen2",  // bias terms are not applied in this version
      "w-missing-qnorm-qwen3"  // checked as it is, below
  };
  for (const Case& c : cases()) {
    if ((c.group != "weights" && c.group != "safetensors" && c.group != "index") || other_rules.contains(c.name))
      continue;
    const auto config = as_qwen3(c.dir);
    ASSERT_TRUE(config.ok()) << c.name;
    auto spec = parse_spec(Cursor(*config, "config.json"));
    ASSERT_TRUE(spec.ok()) << c.name << ": " << spec.error().message;
    spec->qk_norm = false;  // the other families have none
    const auto weights = Checkpoint::open(c.dir);
    std::string got = message_of(weights);
    if (weights.ok()) got = message_of(weights->check_against(*spec));
    if (got == "accepted") got = message_of(weights->check_finite());
    if (c.expect == "accept" || c.name == "ix-total-size-wrong")
      EXPECT_EQ(got, "accepted") << c.name;
    else
      EXPECT_THAT(got, HasSubstr(c.field.substr(0, c.field.find('*')))) << c.name;
    EXPECT_TRUE(c.expect != "refuse" || got != "accepted") << c.name;
  }
}

TEST(RefuseFixtures, AQwen3WithoutItsQueryNormIsRefused) {
  for (const Case& c : cases())
    if (c.name == "w-missing-qnorm-qwen3") {
      EXPECT_THAT(verdict(c.dir), HasSubstr(c.field));
    }
}

TEST(RefuseFixtures, TokenizersThatCannotBeFollowedAreRefused) {
  for (const Case& c : cases()) {
    if (c.group != "tokenizer" || c.expect != "refuse") continue;
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
  for (const Case& c : cases()) {
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
