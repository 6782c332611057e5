// Ids decoded one by one: whole characters, and joined the peer's text.
#include "calkit/base/text.h"
#include "tokenizer_support.h"

namespace calkit::hf {
namespace {

std::string streamed(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, bool skip) {
  StreamingDecoder stream(tokenizer, skip);
  std::string joined;
  const auto take = [&](const std::string& part) {
    EXPECT_EQ(invalid_utf8_at(part), std::string::npos) << "a cut character";
    joined += part;
  };
  for (const TokenId id : ids) take(stream.feed(id));
  take(stream.flush());
  return joined;
}

TEST(TokenizerStream, GoldenIdsGiveTheTextsOfThePeer) {
  for (const std::string name : {"qwen3-qknorm", "qwen3-sharded-v4", "qwen3-trained"}) {
    const Tokenizer ours = load_or_die("models/" + name + "/tokenizer.json");
    for (const Value& line : read_lines_or_die("golden/" + name + "/decode.jsonl")) {
      const auto ids = ids_of(*line.find("ids"));
      EXPECT_EQ(streamed(ours, ids, false), text_of(line, "text"));
      EXPECT_EQ(streamed(ours, ids, true), text_of(line, "text_skip_special"));
    }
  }
}

TEST(TokenizerStream, EveryFeatureGivesTheTextsOfThePeer) {
  const Value base = base_tokenizer();
  for (const Value& line : read_lines_or_die("tokenizers/cases.jsonl")) {
    Value changed = base;
    for (const auto& [key, value] : *line.find("changes")->if_object()) changed.set(key, value);
    const auto ours = parse_value(changed);
    ASSERT_TRUE(ours.ok()) << ours.error().message;
    for (const Value& text : *line.find("texts")->if_array()) {
      const auto ids = ids_of(*text.find("ids_special"));
      EXPECT_EQ(streamed(*ours, ids, false), text_of(text, "text_decoded")) << text_of(line, "name");
      EXPECT_EQ(streamed(*ours, ids, true), text_of(text, "text_skip_special")) << text_of(line, "name");
    }
  }
}

TEST(TokenizerStream, ACharacterComesWithItsLastByte) {
  const auto ours = parse_value(base_tokenizer());
  ASSERT_TRUE(ours.ok());
  StreamingDecoder stream(*ours, false);
  EXPECT_EQ(stream.feed(0xe4), "");
  EXPECT_EQ(stream.feed(0xb8), "");
  EXPECT_EQ(stream.feed(0xad), "\u4e2d");
  EXPECT_EQ(stream.feed(0xf0), "");
  EXPECT_EQ(stream.feed('a'), "\ufffda") << "what cannot be a character any more comes at once";
  EXPECT_EQ(stream.feed(0xc3), "");
  EXPECT_EQ(stream.feed(99999), "");
  EXPECT_EQ(stream.unknown_ids(), 1u);
  EXPECT_EQ(stream.flush(), "\ufffd");
  EXPECT_EQ(stream.feed('b'), "b") << "a new text";
}

TEST(TokenizerStream, ARunOfByteTokensWaitsForItsEnd) {
  const Tokenizer ours = load_or_die("cases/F03/tokenizer.json");
  const auto byte = [&](const char* token) { return ours.id_of(token).value_or(-1); };
  StreamingDecoder stream(ours, false);
  for (const char* token : {"<0xE4>", "<0xB8>", "<0xAD>"}) EXPECT_EQ(stream.feed(byte(token)), "");
  EXPECT_EQ(stream.feed(byte("a")), "\u4e2da");
  for (const char* token : {"<0xE4>", "<0xB8>", "<0xAD>", "<0xFF>"}) EXPECT_EQ(stream.feed(byte(token)), "");
  EXPECT_EQ(stream.flush(), "\ufffd\ufffd\ufffd\ufffd") << "one wrong byte spoils the run, as in the peer";
}

}  // namespace
}  // namespace calkit::hf
