// Long texts stay fast: the time limits are generous for a loaded machine and far below what a quadratic algorithm
// takes.
#include <algorithm>
#include <chrono>

#include "tokenizer_support.h"

namespace calkit::hf {
namespace {

constexpr std::size_t kMegabyte = 1'000'000;
constexpr auto kLimit = std::chrono::seconds(20);

std::string repeat(const std::string& part, std::size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += part;
  return out;
}

TEST(TokenizerLarge, AMegabyteOfEachKindRoundTripsInTime) {
  const Tokenizer ours = load_or_die("models/tiny-dense/tokenizer.json");
  for (const char* part : {"a", "the", " ", "\n", "1", "!?", "\u4e2d\u6587", "a\u0327\u0301", "\U0001f600",
                           "<|im_start|>", "<|im_", "'s "}) {
    const std::string text = repeat(part, kMegabyte);
    const auto start = std::chrono::steady_clock::now();
    const auto ids = encode(ours, text);
    EXPECT_LT(std::chrono::steady_clock::now() - start, kLimit) << part;
    EXPECT_GT(ids.size(), 1000u) << part;
    if (std::string(part).find("\u0327") == std::string::npos) {
      EXPECT_EQ(ours.decode(ids, false).text, text) << part;
    }
  }
}

TEST(TokenizerLarge, AMegabyteAsOneWordOfCharactersInTime) {
  const Tokenizer ours = load_or_die("cases/F03/tokenizer.json");
  for (const char* part : {"a", "a ", " ", "ab", "\u00a0", "\u4e2d", "<unk>", "a\u00a0 "}) {
    const std::string text = repeat(part, kMegabyte);
    const auto start = std::chrono::steady_clock::now();
    const auto ids = encode(ours, text);
    EXPECT_EQ(ours.decode(ids, false).text, text) << part;
    EXPECT_LT(std::chrono::steady_clock::now() - start, kLimit) << part;
  }
}

TEST(TokenizerLarge, AMegabyteOfBestPathsInTime) {
  Value vocab = Value::array({Value::array({"<unk>", 0.0})});
  std::string run;
  for (int i = 0; i < 16; ++i) vocab.if_array()->push_back(Value::array({run += "a", -1.0 - i * 0.01}));
  vocab.if_array()->push_back(Value::array({"a ", -1.5}));
  Value file = base_tokenizer();
  file.set("pre_tokenizer", nullptr);
  file.set("decoder", Value::object({{"type", "Fuse"}}));
  file.set("model", Value::object({{"type", "Unigram"}, {"unk_id", 0}, {"vocab", std::move(vocab)}}));
  const auto ours = parse_value(file);
  ASSERT_TRUE(ours.ok()) << ours.error().message;
  for (const char* part : {"a", "a "}) {
    const std::string text = repeat(part, kMegabyte);
    const auto start = std::chrono::steady_clock::now();
    const auto ids = encode(*ours, text);
    EXPECT_EQ(ours->decode(ids, false).text, text) << part;
    EXPECT_LT(std::chrono::steady_clock::now() - start, kLimit) << part;
  }
}

TEST(TokenizerLarge, ALongAddedTokenThatAlmostMatchesEverywhereInTime) {
  Value file = base_tokenizer();
  const auto next = static_cast<std::int64_t>(file.find("model")->find("vocab")->if_object()->size());
  file.set("added_tokens", Value::array({Value::object({{"id", next},
                                                        {"content", std::string(4000, 'a') + "b"},
                                                        {"single_word", false},
                                                        {"lstrip", false},
                                                        {"rstrip", false},
                                                        {"normalized", false},
                                                        {"special", true}})}));
  const auto ours = parse_value(file);
  ASSERT_TRUE(ours.ok()) << ours.error().message;
  const auto start = std::chrono::steady_clock::now();
  const auto ids = encode(*ours, repeat("a", kMegabyte) + "b" + repeat("a", 10));
  EXPECT_LT(std::chrono::steady_clock::now() - start, kLimit);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), static_cast<TokenId>(next)), 1);
}

TEST(TokenizerLarge, AThousandPiecesInOneCallEqualThePiecesAlone) {
  const Tokenizer ours = load_or_die("models/tiny-dense/tokenizer.json");
  std::string text;
  std::vector<TokenId> want;
  for (int i = 0; i < 1000; ++i) {
    const std::string line = "line " + std::to_string(i) + " of the text\n";
    const auto ids = encode(ours, line);
    text += line;
    want.insert(want.end(), ids.begin(), ids.end());
  }
  EXPECT_EQ(encode(ours, text), want);
}

}  // namespace
}  // namespace calkit::hf
