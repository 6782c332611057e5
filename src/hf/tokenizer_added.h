#pragma once
/// Added tokens: cut out of a text before it is pre-tokenized, longest first, and shown or skipped when ids are
/// decoded.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "calkit/base/document.h"
#include "calkit/hf/tokenizer.h"
#include "tokenizer_model.h"
#include "tokenizer_normalize.h"
#include "tokenizer_trie.h"

namespace calkit::hf {

/// A part of a text: an added token's id, or text that is still to be encoded.
struct Part {
  std::string_view text;
  TokenId id = -1;  ///< -1: text
};

/// Finds the leftmost, then longest, of a set of texts.
class TextSet {
 public:
  /// False: the text is there already, or empty.
  bool add(std::string_view text, std::size_t value);
  struct Hit {
    std::size_t begin = 0, end = 0, value = 0;
  };
  /// The next hit at or after `from`; false if there is none.
  bool next(std::string_view text, std::size_t from, Hit& hit) const;

 private:
  ByteTrie trie_;
  std::array<bool, 256> starts_{};  ///< bytes that some text begins with
};

class AddedVocabulary {
 public:
  /// @param normalizer some tokens are looked for in the normalised text, in their own normalised form.
  static Result<AddedVocabulary> parse(const Cursor& root, const TokenModel& model, const Normalizer& normalizer);

  /// Cuts out the tokens that are looked for in the text as it is (`raw`) or in the normalised text.
  std::vector<Part> split(std::string_view text, bool raw) const;

  const std::vector<AddedToken>& tokens() const { return tokens_; }
  const AddedToken* find(TokenId id) const;
  std::optional<TokenId> id_of(std::string_view content) const;
  /// What an id decodes to: the form that was looked for.
  const std::string& decoded(const AddedToken& token) const;
  bool is_special(const std::string& text) const { return special_.contains(text); }

 private:
  Status add(const Cursor& at, const TokenModel& model, TokenId& next_id, Normalizer::Run& normalizer);

  std::vector<AddedToken> tokens_;
  std::unordered_map<TokenId, std::size_t> by_id_;
  std::unordered_map<std::string, TokenId> by_content_;
  std::unordered_map<TokenId, std::string> normalised_;  ///< only where normalising changes the content
  std::unordered_set<std::string> special_;
  TextSet raw_, normal_;
};

}  // namespace calkit::hf
