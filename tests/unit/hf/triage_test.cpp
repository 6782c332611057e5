#include "calkit/hf/triage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calkit/base/files.h"
#include "checkpoint_support.h"

namespace calkit::hf {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kModels = CALKIT_TEST_DATA "/models/";

manifest::ProductTargets targets_of(std::int64_t context, std::int64_t batch = 1, const std::string& kv = "bf16") {
  manifest::ProductTargets out;
  out.context = context;
  out.batch = batch;
  out.kv_dtype = kv;
  return out;
}

TriageReport report_of(const std::filesystem::path& model, const manifest::ProductTargets& targets,
                       const manifest::DeviceProfile& device) {
  const auto report = triage(model, targets, device);
  EXPECT_TRUE(report.ok()) << report.error().message;
  return report.ok() ? *report : TriageReport();
}

std::vector<std::string> failed(const TriageReport& report) {
  std::vector<std::string> out;
  for (const TriageRule& rule : report.rules)
    if (rule.verdict == Verdict::kFail) out.push_back(rule.id);
  return out;
}

const TriageRule& rule_of(const TriageReport& report, std::string_view id) {
  for (const TriageRule& rule : report.rules)
    if (rule.id == id) return rule;
  ADD_FAILURE() << "no rule " << id;
  return report.rules.front();
}

TEST(Triage, TheDemoModelIsFitAndOnlyItsSizeIsNoted) {
  const auto device = manifest::default_device_profile();
  ASSERT_TRUE(device.ok());
  const TriageReport report = report_of(kModels + "tiny-dense", targets_of(2048, 1, "f32"), *device);
  EXPECT_TRUE(report.passed());
  EXPECT_EQ(report.parameters, 3476864u);
  EXPECT_EQ(report.weight_bytes, 2 * 3476864u);
  EXPECT_EQ(report.kv_bytes, 5u * 2 * 2 * 64 * 2048 * 4);
  EXPECT_EQ(rule_of(report, "size").verdict, Verdict::kNote);
  EXPECT_EQ(rule_of(report, "licence").found, "cc0-1.0");
  EXPECT_EQ(report.headers_sha256.size(), 64u);
}

TEST(Triage, EveryRuleSaysWhatItFoundAllowedAndWhere) {
  const auto device = manifest::default_device_profile();
  for (const TriageRule& rule : report_of(kModels + "tiny-dense", targets_of(2048), *device).rules) {
    EXPECT_FALSE(rule.text.empty() || rule.found.empty() || rule.allowed.empty() || rule.source.empty()) << rule.id;
    EXPECT_THAT(rule.status, testing::MatchesRegex("C[0-4]")) << rule.id;
  }
}

TEST(Triage, TheContextTargetIsHeldAgainstTheTrainedOne) {
  const auto device = manifest::default_device_profile();
  EXPECT_THAT(failed(report_of(kModels + "tiny-dense", targets_of(4096), *device)), IsEmpty());
  EXPECT_THAT(failed(report_of(kModels + "tiny-dense", targets_of(4097), *device)), ElementsAre("context"));
}

TEST(Triage, OneByteTooFewOnTheChipletFails) {
  manifest::DeviceProfile device;
  device.name = "small";
  device.guard_bytes = 1000;
  const TriageReport fits = report_of(kModels + "tiny-dense", targets_of(2048, 3), device);
  device.dram_bytes = device.guard_bytes + fits.weight_bytes + *fits.kv_bytes;
  EXPECT_TRUE(report_of(kModels + "tiny-dense", targets_of(2048, 3), device).passed());
  --device.dram_bytes;
  EXPECT_THAT(failed(report_of(kModels + "tiny-dense", targets_of(2048, 3), device)), ElementsAre("chiplet-fit"));
}

/// tiny-dense with members of its config replaced.
testing_support::ScratchDir& edited(testing_support::ScratchDir& dir, std::initializer_list<Value::Member> members) {
  Value config = *read_json(kModels + "tiny-dense/config.json");
  for (const auto& [key, value] : members) config.set(key, value);
  dir.write("config.json", to_json(config));
  std::filesystem::copy_file(kModels + "tiny-dense/model.safetensors", dir / "model.safetensors");
  return dir;
}

TEST(Triage, HeadsThatTheConfigDoesNotStateAreReadFromTheTensors) {
  testing_support::ScratchDir dir;
  edited(dir, {{"head_dim", nullptr}, {"num_key_value_heads", nullptr}});
  const auto device = manifest::default_device_profile();
  const TriageReport report = report_of(dir.path(), targets_of(1), *device);
  EXPECT_EQ(report.kv_bytes, 5u * 2 * 2 * 64 * 2);
  EXPECT_THAT(rule_of(report, "gqa").source, HasSubstr("tensor headers"));
}

TEST(Triage, AVocabularyOneAboveTheProductsFails) {
  const auto device = manifest::default_device_profile();
  for (const int vocab : {151936, 151937}) {
    testing_support::ScratchDir dir;
    edited(dir, {{"vocab_size", vocab}});
    EXPECT_EQ(report_of(dir.path(), targets_of(1), *device).passed(), vocab == 151936);
  }
}

TEST(Triage, AKvCacheThatOverflowsIsNotStatedNeverSmall) {
  testing_support::ScratchDir dir;
  edited(dir, {{"num_hidden_layers", std::int64_t{1} << 40}, {"head_dim", std::int64_t{1} << 40}});
  const auto device = manifest::default_device_profile();
  const TriageReport report = report_of(dir.path(), targets_of(1), *device);
  EXPECT_EQ(report.kv_bytes, std::nullopt);
  EXPECT_THAT(failed(report), ElementsAre("chiplet-fit"));
}

TEST(Triage, AFolderThatCannotBeReadIsAnErrorNotAVerdict) {
  const auto device = manifest::default_device_profile();
  const testing_support::ScratchDir dir;
  EXPECT_EQ(triage(dir / "nowhere", targets_of(1), *device).error().kind, ErrorKind::kInput);
  dir.write("config.json", "{}");
  EXPECT_THAT(message_of(triage(dir.path(), targets_of(1), *device)), HasSubstr("no weight file"));
  dir.write("pytorch_model.bin", "x");
  EXPECT_THAT(message_of(triage(dir.path(), targets_of(1), *device)), HasSubstr("only pytorch_model.bin"));
  dir.write("model.safetensors", "x");
  EXPECT_THAT(message_of(triage(dir.path(), targets_of(1), *device)), HasSubstr("1 bytes"));
  dir.write("config.json", "[]");
  EXPECT_THAT(message_of(triage(dir.path(), targets_of(1), *device)), HasSubstr("config.json"));
}

TEST(Triage, AnEmptyConfigFailsEveryStructureRuleByName) {
  const testing_support::ScratchDir dir;
  dir.write("config.json", "{}");
  dir.write("model.safetensors", safetensors_file("{}", ""));
  const auto device = manifest::default_device_profile();
  EXPECT_THAT(failed(report_of(dir.path(), targets_of(1), *device)),
              ElementsAre("dense-decoder", "rms-norm", "rope", "gqa", "swiglu", "float-weights", "vocab", "context",
                          "chiplet-fit"));
}

TEST(Triage, EveryFamilyThatIsRunPassesButItsExperts) {
  const auto device = manifest::default_device_profile();
  for (const std::string name : {"llama-gqa-rope3", "llama-mha-f32-v4", "llama-micro-v4", "mistral-f16",
                                 "qwen2-bias-tied-v4", "qwen3-qknorm", "qwen3moe-e8k2", "qwen3moe-mixed-v4"}) {
    const TriageReport report = report_of(kModels + name, targets_of(256), *device);
    if (name.starts_with("qwen3moe"))
      EXPECT_THAT(failed(report), ElementsAre("dense-decoder")) << name;
    else
      EXPECT_THAT(failed(report), IsEmpty()) << name;
    EXPECT_EQ(rule_of(report, "next-steps").verdict, Verdict::kPass) << name;
  }
}

TEST(Triage, DefaultsOfAKnownFamilyCountAndSayThatTheyAre) {
  const auto device = manifest::default_device_profile();
  testing_support::ScratchDir dir;
  edited(dir, {{"max_position_embeddings", nullptr},
               {"rope_theta", nullptr},
               {"rope_parameters", nullptr},
               {"hidden_act", nullptr},
               {"rms_norm_eps", nullptr},
               {"use_sliding_window", nullptr},
               {"sliding_window", 4096}});
  const TriageReport report = report_of(dir.path(), targets_of(4096), *device);
  EXPECT_THAT(failed(report), IsEmpty());
  for (const char* id : {"context", "rope", "rms-norm"})
    EXPECT_THAT(rule_of(report, id).found, HasSubstr("by default"));
}

TEST(Triage, AMistralWithoutAWordAboutItsWindowFails) {
  const auto device = manifest::default_device_profile();
  for (const bool stated : {true, false}) {
    testing_support::ScratchDir dir;
    Value config = *read_json(kModels + "mistral-f16/config.json");
    if (!stated) std::erase_if(*config.if_object(), [](const Value::Member& m) { return m.first == "sliding_window"; });
    dir.write("config.json", to_json(config));
    std::filesystem::copy_file(kModels + "mistral-f16/model.safetensors", dir / "model.safetensors");
    const auto bad = failed(report_of(dir.path(), targets_of(256), *device));
    EXPECT_EQ(bad.empty(), stated);
  }
}

TEST(Triage, TheDocumentAndTheTableHoldEveryRule) {
  const auto device = manifest::default_device_profile();
  const TriageReport report = report_of(kModels + "tiny-dense", targets_of(2048), *device);
  const Value document = to_value(report, targets_of(2048), *device);
  EXPECT_EQ(document.find("rules")->if_array()->size(), report.rules.size());
  EXPECT_EQ(*document.find("schema"), Value("calkit.triage/1"));
  const std::string text = to_text(report);
  for (const TriageRule& rule : report.rules) EXPECT_THAT(text, AllOf(HasSubstr(rule.id), HasSubstr(rule.found)));
}

}  // namespace
}  // namespace calkit::hf
