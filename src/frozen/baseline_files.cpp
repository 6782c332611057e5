#include <algorithm>
#include <array>

#include "layout.h"

namespace calkit::frozen {

Result<std::string> read_digest(const Cursor& at) {
  constexpr std::string_view kPrefix = "sha256:";
  constexpr std::size_t kDigits = 64;
  CALKIT_TRY(const auto text, at.as_string());
  const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  const bool good = text.starts_with(kPrefix) && text.size() == kPrefix.size() + kDigits &&
                    std::all_of(text.begin() + kPrefix.size(), text.end(), hex);
  if (!good) return at.error(at.value().describe(), "\"sha256:\" and 64 hexadecimal digits");
  return text.substr(kPrefix.size());
}

bool is_tokenizer_file(std::string_view name) {
  constexpr std::array<std::string_view, 9> kNames = {
      "added_tokens.json", "chat_template.jinja",   "chat_template.json", "merges.txt", "special_tokens_map.json",
      "tokenizer.json",    "tokenizer_config.json", "tokenizer.model",    "vocab.json"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         name.starts_with("additional_chat_templates/");
}

bool is_weight_file(std::string_view name) {
  return name.ends_with(".safetensors");
}

}  // namespace calkit::frozen
