#pragma once
/// Canonical composition (NFC) as the peer's normaliser computes it: by the tables of Unicode 9, whatever is newer is
/// inert.
#include <string>
#include <string_view>

namespace calkit::hf {

/// @param text valid UTF-8. Time is O(n log n).
std::string nfc(std::string_view text);

}  // namespace calkit::hf
