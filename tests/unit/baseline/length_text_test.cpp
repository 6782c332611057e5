#include "baseline/length_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace calkit::baseline {
namespace {

const std::filesystem::path kModels = std::filesystem::path(CALKIT_TEST_DATA) / "models";

hf::Tokenizer tokenizer_of(const std::string& model) {
  auto tokenizer = hf::Tokenizer::load(kModels / model / "tokenizer.json");
  if (!tokenizer.ok()) throw std::runtime_error(tokenizer.error().message);
  return std::move(tokenizer).value();
}

TEST(LengthText, HasExactlyTheTokensAskedForWithEveryTokenizer) {
  for (const auto& entry : std::filesystem::directory_iterator(kModels)) {
    const auto tokenizer = tokenizer_of(entry.path().filename().string());
    for (const std::int64_t tokens : {1, 2, 15, 16, 17, 255, 256, 257, 4095, 4096, 4097})
      for (const bool special : {false, true}) {
        const auto text = text_of_tokens(tokenizer, tokens, special);
        ASSERT_TRUE(text.ok()) << text.error().message;
        const auto [before, after] = tokenizer.special_frame();
        if (special && static_cast<std::int64_t>(before.size() + after.size()) >= tokens) continue;
        ASSERT_TRUE(text->has_value()) << entry.path() << " " << tokens;
        EXPECT_EQ(tokenizer.encode(**text, special)->size(), static_cast<std::size_t>(tokens)) << entry.path();
        EXPECT_EQ(*text_of_tokens(tokenizer, tokens, special).value(), **text) << "the same text each time";
      }
  }
}

TEST(LengthText, FewerTokensThanTheFrameHasAreNotFound) {
  const std::string json =
      R"({"version":"1.0","added_tokens":[{"id":3,"content":"<s>","special":true,"single_word":false,"lstrip":false,)"
      R"("rstrip":false,"normalized":false}],"normalizer":null,"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":)"
      R"(false,"trim_offsets":true,"use_regex":true},"post_processor":{"type":"TemplateProcessing","single":)"
      R"([{"SpecialToken":{"id":"<s>","type_id":0}},{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A",)"
      R"("type_id":0}}],"pair":[],"special_tokens":{"<s>":{"id":"<s>","ids":[3],"tokens":["<s>"]}}},"decoder":null,)"
      R"("model":{"type":"BPE","vocab":{"a":0,"b":1,"e":2},"merges":[]}})";
  const auto tokenizer = hf::Tokenizer::parse(json, "t.json");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  const auto one = text_of_tokens(*tokenizer, 1, true);
  ASSERT_TRUE(one.ok()) << one.error().message;
  EXPECT_FALSE(one->has_value());
  EXPECT_TRUE(text_of_tokens(*tokenizer, 17, true)->has_value());
}

TEST(SpecialTokenText, NamesEachOfTheTokenizersOwn) {
  const auto tokenizer = tokenizer_of("tiny-dense");
  const auto joined = text_of_special_tokens(tokenizer, "joined");
  ASSERT_TRUE(joined.has_value());
  for (const auto& token : tokenizer.added_tokens())
    if (token.special) {
      EXPECT_THAT(*joined, testing::HasSubstr(token.content));
    }
  const auto ids = tokenizer.encode(*joined, false);
  for (const auto& token : tokenizer.added_tokens())
    if (token.special) {
      EXPECT_THAT(*ids, testing::Contains(token.id));
    }
  EXPECT_GT(text_of_special_tokens(tokenizer, "spaced")->size(), joined->size());
}

}  // namespace
}  // namespace calkit::baseline
