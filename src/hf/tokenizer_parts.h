#pragma once
/// Small sections of a tokenizer.json: the post-processor, and options that several sections share.
#include <utility>
#include <vector>

#include "calkit/base/document.h"
#include "calkit/hf/tokenizer.h"

namespace calkit::hf {

/// The ids in front of and behind a single text when special tokens are asked for.
using SpecialFrame = std::pair<std::vector<TokenId>, std::vector<TokenId>>;
Result<SpecialFrame> parse_post_processor(const Cursor& root);

enum class PrependScheme { kAlways, kFirst, kNever };
/// A Metaspace, as pre-tokenizer or decoder.
struct MetaspaceOptions {
  char32_t replacement = 0;
  PrependScheme scheme = PrependScheme::kAlways;
  bool split = true;
};
Result<MetaspaceOptions> read_metaspace(const Cursor& at);

/// The entries of a Sequence, listed under `key`. kInput: more than 8 lie inside one another.
Result<std::vector<Cursor>> read_sequence(const Cursor& at, const char* key, int depth);

/// A member that holds exactly one character.
Result<char32_t> read_character(const Cursor& at, std::string_view key);

}  // namespace calkit::hf
