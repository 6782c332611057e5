// Long texts stay fast: the time limits are generous for a loaded machine and far below what a quadratic algorithm
// takes.
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
