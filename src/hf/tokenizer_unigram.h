#pragma once
/// Unigram: of all ways to cut a word into entries, the one with the largest sum of scores.
#include "tokenizer_model.h"
#include "tokenizer_trie.h"

namespace calkit::hf {

class UnigramModel : public TokenModel {
 public:
  static Result<std::unique_ptr<UnigramModel>> parse(const Cursor& model);
  /// O(length of the word x length of the longest entry).
  Status encode(std::string_view word, bool bytes, std::vector<TokenId>& out) const override;
  std::vector<std::uint8_t> vanishing_bytes() const override { return {}; }

 private:
  struct Node {
    double score = 0;
    std::size_t begin = SIZE_MAX;  ///< of the entry that ends here; SIZE_MAX: none does yet
    TokenId id = kNoToken;
  };
  Status read_vocabulary(const Cursor& model);
  Status best_path(std::string_view word, std::vector<Node>& ends) const;
  Status append(std::string_view piece, std::vector<TokenId>& out) const;

  std::vector<double> scores_;
  ByteTrie trie_;
  double unknown_score_ = 0;
  TokenId unknown_ = kNoToken;
  bool byte_fallback_ = false;
};

}  // namespace calkit::hf
