#pragma once
/// The sections of a tokenizer.json around the model: normalizer, post_processor, decoder.
#include <utility>
#include <vector>

#include "calkit/base/document.h"
#include "calkit/hf/tokenizer.h"

namespace calkit::hf {

/// True: NFC. False: there is no normalizer. Anything else is kInput.
Result<bool> parse_normalizer(const Cursor& root);

/// The ids in front of and behind a single text when special tokens are asked for.
using SpecialFrame = std::pair<std::vector<TokenId>, std::vector<TokenId>>;
Result<SpecialFrame> parse_post_processor(const Cursor& root);

/// True: ByteLevel. False: no decoder; tokens are then joined with spaces as they stand in the vocabulary.
Result<bool> parse_decoder(const Cursor& root);

}  // namespace calkit::hf
