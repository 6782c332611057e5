#pragma once
/// A text of exactly so many token ids, for any tokenizer.
#include <cstdint>
#include <optional>
#include <string>

#include "calkit/hf/tokenizer.h"

namespace calkit::baseline {

/// The same tokenizer gives the same text. nullopt: none of the texts tried has that count.
Result<std::optional<std::string>> text_of_tokens(const hf::Tokenizer& tokenizer, std::int64_t tokens,
                                                  bool add_special_tokens);

/// The special tokens of the tokenizer in the order of their ids, the first 64 of them: "joined" one behind another,
/// "spaced" with a blank between, "quoted" within words. nullopt: it has none.
std::optional<std::string> text_of_special_tokens(const hf::Tokenizer& tokenizer, const std::string& style);

}  // namespace calkit::baseline
