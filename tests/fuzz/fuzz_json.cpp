// The strict JSON reader: whatever it accepts is written and read back to the same value.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "calkit/base/document.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = calkit::parse_json(text, "fuzz.json");
  if (value.ok()) {
    const auto again = calkit::parse_json(calkit::to_json(*value), "again.json");
    if (!again.ok() || !(*again == *value)) std::abort();
  }
  static_cast<void>(calkit::parse_json_lines(text, "fuzz.jsonl").ok());
  return 0;
}
