#include "length_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace calkit::baseline {
namespace {

constexpr std::size_t kSpecialTokens = 64;
constexpr std::size_t kWindow = 48;  // bytes on each side of the best cut that are tried

// Plain sentences with a running number: long texts keep saying something new.
constexpr std::array<std::string_view, 8> kSentences = {"The harbour was quiet when ship number {} came in. ",
                                                        "Nobody had counted the {} crates that stood on the quay. ",
                                                        "A clerk wrote the number {} into a grey book and yawned. ",
                                                        "By noon the wind had turned, and {} gulls sat on the crane. ",
                                                        "\"Is that all?\" asked the captain; \"I had ordered {}.\"\n",
                                                        "They weighed each crate twice: {} kg, then a little less. ",
                                                        "In the evening {} lamps were lit along the water.\n\n",
                                                        "The last entry of the day was {}, underlined in red. "};

std::string long_text(std::size_t bytes) {
  std::string out;
  for (std::size_t i = 0; out.size() < bytes; ++i)
    out += fmt::format(fmt::runtime(kSentences[i % kSentences.size()]), 17 + i * 31);
  return out;
}

class Search {
 public:
  Search(const hf::Tokenizer& tokenizer, std::int64_t tokens, bool special)
      : tokenizer_(tokenizer), tokens_(tokens), special_(special) {}

  Result<std::optional<std::string>> run() {
    std::string text = long_text(static_cast<std::size_t>(tokens_) * 4 + kWindow);
    CALKIT_TRY(auto all, count(text));
    for (int doubled = 0; all < tokens_ && doubled < 4; ++doubled) {
      text = long_text(text.size() * 2);
      CALKIT_TRY(all, count(text));
    }
    std::size_t low = 0, high = text.size();  // the longest cut that has no more ids than wanted
    while (low < high) {
      const std::size_t middle = low + (high - low + 1) / 2;
      CALKIT_TRY(const auto got, count(text.substr(0, middle)));
      if (got == tokens_) return std::optional<std::string>(text.substr(0, middle));
      if (got < tokens_)
        low = middle;
      else
        high = middle - 1;
    }
    return around(text, low);
  }

 private:
  Result<std::int64_t> count(const std::string& text) const {
    CALKIT_TRY(const auto ids, tokenizer_.encode(text, special_));
    return static_cast<std::int64_t>(ids.size());
  }

  // Counts do not grow with every byte: where a cut jumps over the number, another cut or another tail may hit it.
  Result<std::optional<std::string>> around(const std::string& text, std::size_t best) const {
    constexpr std::array<std::string_view, 8> kTails = {"", " a", "7", ".", "\n", " q", "  ", "x7"};
    const std::size_t first = best > kWindow ? best - kWindow : 1, last = std::min(text.size(), best + kWindow);
    for (const std::string_view tail : kTails)
      for (std::size_t cut = first; cut <= last; ++cut) {
        std::string tried = text.substr(0, cut) + std::string(tail);
        CALKIT_TRY(const auto got, count(tried));
        if (got == tokens_) return std::optional<std::string>(std::move(tried));
      }
    return std::optional<std::string>();
  }

  const hf::Tokenizer& tokenizer_;
  const std::int64_t tokens_;
  const bool special_;
};

}  // namespace

Result<std::optional<std::string>> text_of_tokens(const hf::Tokenizer& tokenizer, std::int64_t tokens,
                                                  bool add_special_tokens) {
  return Search(tokenizer, tokens, add_special_tokens).run();
}

std::optional<std::string> text_of_special_tokens(const hf::Tokenizer& tokenizer, const std::string& style) {
  std::vector<hf::AddedToken> tokens = tokenizer.added_tokens();
  std::erase_if(tokens, [](const hf::AddedToken& token) { return !token.special; });
  std::sort(tokens.begin(), tokens.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  if (tokens.empty()) return std::nullopt;
  if (tokens.size() > kSpecialTokens) tokens.resize(kSpecialTokens);
  std::string out;
  for (const hf::AddedToken& token : tokens) {
    if (style == "spaced" && !out.empty()) out += ' ';
    out += style == "quoted" ? fmt::format("He typed \"{}\" and waited. ", token.content) : token.content;
  }
  return out;
}

}  // namespace calkit::baseline
