#pragma once
/// The model section of a tokenizer.json: what turns one word into ids.
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "calkit/base/document.h"
#include "calkit/hf/tokenizer.h"

namespace calkit::hf {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using Vocabulary = std::unordered_map<std::string, TokenId, TextHash, std::equal_to<>>;

constexpr TokenId kNoToken = -1;

class TokenModel {
 public:
  virtual ~TokenModel() = default;
  /// Reads and checks the model section. Models and flags that calkit does not do are refused by name.
  static Result<std::unique_ptr<TokenModel>> parse(const Cursor& model);

  /// Appends the ids of one word, which is not empty. @param bytes the word is raw bytes that the vocabulary spells in
  /// the byte-level alphabet; otherwise it is UTF-8. kInput: a part of the word has no token and the file names no
  /// other.
  virtual Status encode(std::string_view word, bool bytes, std::vector<TokenId>& out) const = 0;
  /// Bytes that vanish from a text whose words are raw bytes.
  virtual std::vector<std::uint8_t> vanishing_bytes() const = 0;

  /// Ids by token; of a token that the file has twice the last id.
  const Vocabulary& vocabulary() const { return vocabulary_; }
  /// Entries whose token comes again later: such an id is decoded and never given.
  const std::vector<std::pair<TokenId, std::string>>& shadowed() const { return shadowed_; }
  std::size_t size() const { return vocabulary_.size() + shadowed_.size(); }
  TokenId id_of(std::string_view token) const {
    const auto found = vocabulary_.find(token);
    return found == vocabulary_.end() ? kNoToken : found->second;
  }

 protected:
  /// Finds the tokens <0x00> to <0xFF> of byte_fallback.
  void find_byte_tokens();
  /// Appends the byte tokens of a text; false if one of them is missing.
  bool append_byte_tokens(std::string_view text, std::vector<TokenId>& out) const;

  Vocabulary vocabulary_;
  std::vector<std::pair<TokenId, std::string>> shadowed_;
  std::array<TokenId, 256> byte_tokens_{};
};

}  // namespace calkit::hf
