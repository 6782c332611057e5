#pragma once
/// Tokenizers from tokenizer.json: BPE (byte-level, or over characters with byte_fallback) and Unigram, with their
/// normalizers, pre-tokenizers, post-processors and decoders. Ids and texts equal those of Hugging Face `tokenizers`.
/// Anything else in the file is refused by name; docs/formats/tokenizer.md lists what is read.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calkit/base/result.h"

namespace calkit::hf {

using TokenId = std::int32_t;

struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool special = false;
  bool lstrip = false, rstrip = false, single_word = false, normalized = false;
};

class Tokenizer {
 public:
  static Result<Tokenizer> load(const std::filesystem::path& tokenizer_json);
  static Result<Tokenizer> parse(std::string_view json, std::string_view file);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  /// @param text UTF-8; invalid bytes are kInput, and so is a text that the tokenizer has no tokens for and no unknown
  /// token either. @param add_special_tokens run the post-processor's template. Time is O(n log n) in the text.
  Result<std::vector<TokenId>> encode(std::string_view text, bool add_special_tokens) const;
  /// Bytes that are no UTF-8 become U+FFFD as in the peer. Ids without an entry decode to nothing and are counted.
  struct Decoded {
    std::string text;
    std::size_t unknown_ids = 0;
  };
  Decoded decode(std::span<const TokenId> ids, bool skip_special_tokens) const;

  std::size_t size() const;  ///< entries, added tokens included
  TokenId max_id() const;
  std::optional<TokenId> id_of(std::string_view token) const;  ///< exact vocabulary or added token
  const std::vector<AddedToken>& added_tokens() const;
  /// Bytes that a byte-level vocabulary has no entry for: as in the peer they vanish from a text. Empty for a whole
  /// byte-level vocabulary, for one with an unknown token, and where words are characters.
  std::vector<std::uint8_t> missing_bytes() const;
  /// Ids the post-processor puts in front of and behind a text when special tokens are asked for.
  std::pair<std::vector<TokenId>, std::vector<TokenId>> special_frame() const;

 private:
  friend class StreamingDecoder;
  struct State;
  explicit Tokenizer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Decodes ids as they come. The parts joined are what Tokenizer::decode makes of all ids; every part is whole
/// characters. A part may come later than its id: bytes wait for the rest of their character, byte_fallback tokens for
/// the end of their run, and a decoder that looks at a text's end for the end.
class StreamingDecoder {
 public:
  /// The tokenizer must outlive the decoder.
  StreamingDecoder(const Tokenizer& tokenizer, bool skip_special_tokens);
  ~StreamingDecoder();
  StreamingDecoder(StreamingDecoder&&) noexcept;
  StreamingDecoder& operator=(StreamingDecoder&&) noexcept;

  /// The text that is complete now; may be empty.
  std::string feed(TokenId id);
  /// What is left, cut characters as U+FFFD. The next id begins a new text.
  std::string flush();
  /// Ids without an entry so far; they decode to nothing.
  std::size_t unknown_ids() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace calkit::hf
