#pragma once
/// Byte pair encoding: characters (or the symbols of bytes) are merged by rank.
#include "tokenizer_map.h"
#include "tokenizer_model.h"

namespace calkit::hf {

class BpeModel : public TokenModel {
 public:
  static Result<std::unique_ptr<BpeModel>> parse(const Cursor& model);

  /// O(n log n) in the length of the word.
  Status encode(std::string_view word, bool bytes, std::vector<TokenId>& out) const override;
  std::vector<std::uint8_t> vanishing_bytes() const override;

 private:
  struct Merge {
    std::uint32_t rank = 0;
    TokenId into = 0;
  };
  static std::uint64_t key(TokenId first, TokenId second) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(first)) << 32) | static_cast<std::uint32_t>(second);
  }
  const Merge* find_merge(TokenId first, TokenId second) const {
    const std::uint32_t at = merge_at_.find(key(first, second));
    return at == IdMap::kNone ? nullptr : &merges_[at];
  }
  Status read_flags(const Cursor& model);
  Status read_vocabulary(const Cursor& model);
  Status read_merges(const Cursor& model);
  Status add_merge(const Cursor& at, const std::string& first, const std::string& second);
  bool byte_symbols(std::string_view word, std::vector<TokenId>& symbols) const;
  Status characters(std::string_view word, std::vector<TokenId>& symbols) const;
  void merge(std::vector<TokenId>& symbols, std::vector<TokenId>& out) const;

  std::vector<Merge> merges_;
  IdMap merge_at_;
  IdMap characters_;  ///< entries of one character
  std::array<TokenId, 256> byte_ids_{};
  bool whole_words_first_ = false;  ///< ignore_merges
  bool byte_fallback_ = false;
  bool fuse_unknown_ = false;
  bool names_unknown_ = false;  ///< unk_token is set
  std::string unknown_text_;
  TokenId unknown_ = kNoToken;
};

}  // namespace calkit::hf
