#include "tokenizer_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "tokenizer_bpe.h"
#include "tokenizer_unigram.h"

namespace calkit::hf {
namespace {

std::string what_is_needed(const std::string& type) {
  if (type == "WordPiece")
    return "WordPiece would need its greedy longest match, continuing_subword_prefix and max_input_chars_per_word";
  if (type == "WordLevel") return "WordLevel would need whole-word lookup with unk_token for all else";
  return "calkit reads BPE (byte-level or with byte_fallback) and Unigram";
}

}  // namespace

Result<std::unique_ptr<TokenModel>> TokenModel::parse(const Cursor& model) {
  CALKIT_TRY(const auto type, model.string("type"));
  if (type == "BPE") {
    CALKIT_TRY(auto bpe, BpeModel::parse(model));
    return std::unique_ptr<TokenModel>(std::move(bpe));
  }
  if (type == "Unigram") {
    CALKIT_TRY(auto unigram, UnigramModel::parse(model));
    return std::unique_ptr<TokenModel>(std::move(unigram));
  }
  return model.at("type").value().error(fmt::format("\"{}\"", type), "\"BPE\" or \"Unigram\"", what_is_needed(type));
}

void TokenModel::find_byte_tokens() {
  for (unsigned byte = 0; byte < 256; ++byte) byte_tokens_[byte] = id_of(fmt::format("<0x{:02X}>", byte));
}

bool TokenModel::append_byte_tokens(std::string_view text, std::vector<TokenId>& out) const {
  const auto token = [&](char c) { return byte_tokens_[static_cast<std::uint8_t>(c)]; };
  if (std::any_of(text.begin(), text.end(), [&](char c) { return token(c) == kNoToken; })) return false;
  for (const char c : text) out.push_back(token(c));
  return true;
}

}  // namespace calkit::hf
