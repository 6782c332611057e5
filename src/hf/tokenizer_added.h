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

/// Finds the longest of a set of texts at every place of a text, in one pass from its end: the texts are kept
/// backwards, with the links of Aho and Corasick.
class TextSet {
 public:
  static constexpr std::uint32_t kNone = ByteTrie::kNone;
  /// False: the text is there already, or empty.
  bool add(std::string_view text, std::uint32_t value);
  /// After the last add.
  void link();
  bool empty() const { return trie_.empty(); }
  /// For every byte of the text the value of the longest text that begins there, or kNone.
  std::vector<std::uint32_t> longest_at(std::string_view text) const;

 private:
  struct Node {
    std::uint32_t parent = 0, depth = 0;
    char byte = 0;
    std::uint32_t fallback = 0;     ///< the longest proper suffix that is a node
    std::uint32_t longest = kNone;  ///< the value of the node or of its nearest fallback with one
  };
  std::uint32_t step(std::uint32_t node, char byte) const;
  ByteTrie trie_;
  std::vector<Node> nodes_ = std::vector<Node>(1);
  std::array<bool, 256> lasts_{};  ///< bytes that some text ends with
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
  std::vector<std::size_t> found_bytes_;  ///< by token: the length of what is looked for
  TextSet raw_, normal_;
};

}  // namespace calkit::hf
