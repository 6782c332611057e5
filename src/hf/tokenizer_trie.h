#pragma once
/// A set of texts, each with a number, and the ones that a text begins with.
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer_map.h"

namespace calkit::hf {

class ByteTrie {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::uint32_t kRoot = 0;

  /// False: the text is there already, or empty.
  bool add(std::string_view text, std::uint32_t value);
  /// The node one byte further, kNone if no text goes on that way.
  std::uint32_t step(std::uint32_t node, char byte) const { return next_.find(key(node, byte)); }
  /// The number of the text that ends at this node, kNone if none does.
  std::uint32_t value(std::uint32_t node) const { return values_[node]; }
  bool empty() const { return values_.size() == 1; }

 private:
  static std::uint64_t key(std::uint32_t node, char byte) {
    return (static_cast<std::uint64_t>(node) << 8) | static_cast<unsigned char>(byte);
  }
  IdMap next_;
  std::vector<std::uint32_t> values_ = {kNone};
};

}  // namespace calkit::hf
