// Sizes with units, hexadecimal and decimal numbers, relative paths, UTF-8: the small parsers of outside text.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "calkit/base/files.h"
#include "calkit/base/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const calkit::Quantity quantity = calkit::parse_quantity(text);
  if (quantity.bytes.has_value() == !quantity.problem.empty()) std::abort();  // exactly one of the two
  if (const auto hex = calkit::parse_hex_u64(text); hex && calkit::parse_hex_u64(calkit::hex_u64(*hex)) != hex)
    std::abort();
  if (const auto number = calkit::parse_decimal_u64(text);
      number && calkit::parse_quantity(std::string(text) + " B").bytes != number &&
      !(text.size() > 1 && text[0] == '0')) {
    std::abort();
  }
  if (calkit::unsafe_path_reason(text).empty() && text.find("..") != std::string_view::npos &&
      (text.starts_with("../") || text.find("/../") != std::string_view::npos)) {
    std::abort();
  }
  if (calkit::invalid_utf8_at(calkit::printable(text)) != std::string_view::npos &&
      calkit::invalid_utf8_at(text) == std::string_view::npos) {
    std::abort();
  }
  return 0;
}
