#include "tokenizer_trie.h"

namespace calkit::hf {

bool ByteTrie::add(std::string_view text, std::uint32_t value) {
  std::uint32_t at = kRoot;
  for (const char byte : text) {
    std::uint32_t child = step(at, byte);
    if (child == kNone) {
      child = static_cast<std::uint32_t>(values_.size());
      values_.push_back(kNone);
      next_.set(key(at, byte), child);
    }
    at = child;
  }
  if (at == kRoot || values_[at] != kNone) return false;
  values_[at] = value;
  return true;
}

}  // namespace calkit::hf
