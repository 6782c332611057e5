#include "calkit/manifest/baseline_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "scratch_dir.h"

namespace calkit::manifest {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::ScratchDir;

std::string digest(char c) {
  return "sha256:" + std::string(64, c);
}
std::string document() {
  return R"({"schema": "calkit.model-source/1", "identity": {"model_sha256": ")" + digest('a') +
         R"("}, "inputs": [{"path": "config.json", "sha256": ")" + digest('b') +
         R"("}], "spec": {"layers": 1, "hidden": 2, "q_heads": 3, "kv_heads": 4, "head_dim": 5, "ffn": 6, "vocab": 7},
         "tokenizer": {"sha256": ")" +
         digest('c') + R"(", "max_id": 6, "special_tokens": {"bos": [{"id": 1}], "eos": [{"id": 2}, {"id": 3}]},
         "chat_template": {"null_reason": "none"}}, "stop_ids": [2, 3]})";
}
Result<BaselineFacts> read_text(const std::string& text) {
  ScratchDir dir;
  std::filesystem::create_directories(dir / "model-source");
  std::ofstream(dir / "model-source/manifest.json") << text;
  return read_baseline_facts(dir / "");
}

TEST(BaselineFacts, AreReadFromTheModelSource) {
  const auto facts = read_text(document());
  ASSERT_TRUE(facts.ok()) << facts.error().message;
  EXPECT_EQ(facts->model_digest, digest('a'));
  EXPECT_EQ(facts->config_digest, digest('b'));
  EXPECT_EQ(facts->tokenizer_digest, digest('c'));
  EXPECT_FALSE(facts->chat_template_digest.has_value());
  EXPECT_EQ(facts->max_token_id, 6);
  EXPECT_THAT(facts->special_ids.at("eos"), ElementsAre(2, 3));
  EXPECT_THAT(facts->special_ids.at("stop"), ElementsAre(2, 3));
  EXPECT_EQ(facts->shape.at("head_dim"), 5);
}

TEST(BaselineFacts, AFieldThatIsNotThereIsNamed) {
  std::string text = document();
  text.replace(text.find("\"max_id\""), 8, "\"max_ids\"");
  const auto facts = read_text(text);
  ASSERT_FALSE(facts.ok());
  EXPECT_THAT(facts.error().message, HasSubstr("max_id"));
}

TEST(BaselineFacts, AFolderWithoutOneIsAnError) {
  ScratchDir dir;
  EXPECT_FALSE(read_baseline_facts(dir / "").ok());
  EXPECT_FALSE(read_baseline_facts(dir / "none").ok());
}

}  // namespace
}  // namespace calkit::manifest
