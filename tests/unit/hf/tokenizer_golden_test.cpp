// Ids and texts against what Hugging Face tokenizers stored.
#include "tokenizer_support.h"

namespace calkit::hf {
namespace {

class TokenizerGolden : public testing::TestWithParam<const char*> {
 protected:
  std::string golden(const char* file) const { return std::string("golden/") + GetParam() + "/" + file; }
  Tokenizer tokenizer() const { return load_or_die(std::string("models/") + GetParam() + "/tokenizer.json"); }
};

TEST_P(TokenizerGolden, EveryPromptHasTheIdsOfThePeer) {
  const Tokenizer ours = tokenizer();
  const auto prompts = read_lines_or_die(golden("prompts.jsonl"));
  const auto wanted = read_lines_or_die(golden("token_ids.jsonl"));
  ASSERT_EQ(prompts.size(), wanted.size());
  ASSERT_GE(prompts.size(), 27u);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const std::string text = text_of(prompts[i], "text"), id = text_of(prompts[i], "id");
    const bool special = *prompts[i].find("add_special_tokens")->if_bool();
    EXPECT_EQ(encode(ours, text, special), ids_of(*wanted[i].find("run_ids"))) << id;
    EXPECT_EQ(encode(ours, text, true), ids_of(*wanted[i].find("ids"))) << id;
    EXPECT_EQ(encode(ours, text, false), ids_of(*wanted[i].find("ids_no_special"))) << id;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TokenizerGolden,
                         testing::Values("tiny-dense", "qwen3-qknorm", "qwen3-sharded-v4", "qwen3-trained"),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name)
                             if (c == '-') c = '_';
                           return name;
                         });

TEST(TokenizerDecode, TextsAreThePeersWithCutCharactersReplaced) {
  for (const std::string name : {"qwen3-qknorm", "qwen3-sharded-v4", "qwen3-trained"}) {
    const Tokenizer ours = load_or_die("models/" + name + "/tokenizer.json");
    const auto lines = read_lines_or_die("golden/" + name + "/decode.jsonl");
    ASSERT_GE(lines.size(), 10u);
    for (const Value& line : lines) {
      const auto ids = ids_of(*line.find("ids"));
      EXPECT_EQ(ours.decode(ids, false).text, text_of(line, "text"));
      EXPECT_EQ(ours.decode(ids, true).text, text_of(line, "text_skip_special"));
    }
  }
}

TEST(TokenizerCases, EachFeatureGivesTheIdsAndTextsOfThePeer) {
  const Value base = base_tokenizer();
  std::size_t texts = 0;
  for (const Value& line : read_lines_or_die("tokenizers/cases.jsonl")) {
    const std::string name = text_of(line, "name");
    Value changed = base;
    for (const auto& [key, value] : *line.find("changes")->if_object()) changed.set(key, value);
    const auto tokenizer = parse_value(changed);
    ASSERT_TRUE(tokenizer.ok()) << name << ": " << tokenizer.error().message;
    for (const Value& text : *line.find("texts")->if_array()) {
      const std::string input = text_of(text, "text");
      EXPECT_EQ(encode(*tokenizer, input, false), ids_of(*text.find("ids"))) << name << ": " << input;
      const auto special = ids_of(*text.find("ids_special"));
      EXPECT_EQ(encode(*tokenizer, input, true), special) << name << ": " << input;
      EXPECT_EQ(tokenizer->decode(special, false).text, text_of(text, "text_decoded")) << name;
      EXPECT_EQ(tokenizer->decode(special, true).text, text_of(text, "text_skip_special")) << name;
      ++texts;
    }
  }
  EXPECT_GE(texts, 500u);
}

}  // namespace
}  // namespace calkit::hf
