// The strict YAML reader: whatever it accepts can be written as JSON and read back to the same value.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "calkit/base/document.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto value = calkit::parse_yaml({reinterpret_cast<const char*>(data), size}, "fuzz.yaml");
  if (!value.ok()) return 0;
  const std::string json = calkit::to_json(*value);
  const auto as_json = calkit::parse_json(json, "again.json");
  if (!as_json.ok() || !(*as_json == *value)) std::abort();
  return 0;
}
