#pragma once
/// Sets of code points while a pattern is translated.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "unicode_table.h"

namespace calkit::hf {

class CharSet {
 public:
  void add(char32_t first, char32_t last) { ranges_.push_back({first, last}); }
  void add(const CharSet& other) { ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end()); }
  /// Everything that is not in the set; surrogates are in neither.
  CharSet complement() const;
  bool empty() const { return ranges_.empty(); }
  bool ascii_only() const;
  /// "[\x{41}-\x{5a}]", or "[^...]".
  std::string pcre(bool negated) const;

 private:
  std::vector<CodeRange> merged() const;
  std::vector<CodeRange> ranges_;
};

/// \p{NAME}: a general category of one or two letters, or one of the scripts that unicode_ranges() has.
std::optional<CharSet> property_set(std::string_view name);
/// \s \d \w by their letter, capital for the complement.
std::optional<CharSet> shorthand_set(char letter);

}  // namespace calkit::hf
