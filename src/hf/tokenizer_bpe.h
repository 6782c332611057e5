#pragma once
/// The model section of a tokenizer.json: a byte-level vocabulary and its ranked merges.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "calkit/base/document.h"
#include "calkit/hf/tokenizer.h"

namespace calkit::hf {

class BpeModel {
 public:
  /// Reads and checks the model section. Flags that change ids and that calkit does not do are refused by name.
  static Result<BpeModel> parse(const Cursor& model);

  /// Appends the ids of one word (any bytes). O(n log n) in its length.
  void encode(std::string_view word, std::vector<TokenId>& out) const;

  const std::unordered_map<std::string, TokenId>& vocabulary() const { return vocabulary_; }
  /// The bytes that have no entry of their own: the peer drops them from a text without a word.
  std::vector<std::uint8_t> missing_bytes() const;

 private:
  struct Merge {
    std::uint32_t rank = 0;
    TokenId into = 0;
  };
  static std::uint64_t key(TokenId first, TokenId second) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(first)) << 32) | static_cast<std::uint32_t>(second);
  }
  Status read_vocabulary(const Cursor& model);
  Status read_merges(const Cursor& model);
  Status add_merge(const Cursor& at, std::size_t rank, const std::string& first, const std::string& second);
  void merge(std::vector<TokenId>& symbols, std::vector<TokenId>& out) const;

  std::unordered_map<std::string, TokenId> vocabulary_;
  std::unordered_map<std::uint64_t, Merge> merges_;
  std::array<TokenId, 256> byte_ids_{};  ///< -1: none
  bool whole_words_first_ = false;       ///< ignore_merges
};

}  // namespace calkit::hf
