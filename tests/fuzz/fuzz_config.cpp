// config.json: what is accepted has bounded sizes, so the tensors it asks for can be listed.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "calkit/hf/spec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = calkit::parse_json(text, "config.json");
  if (!document.ok()) return 0;
  const auto spec = calkit::hf::parse_spec(calkit::Cursor(*document, "config.json"));
  if (!spec.ok()) return 0;
  if (calkit::hf::expected_tensors(*spec).size() > 20000) std::abort();
  if (calkit::hf::kv_bytes_per_token(*spec, calkit::DType::kF32) == 0) std::abort();
  return 0;
}
