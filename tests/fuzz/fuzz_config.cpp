// config.json: what is accepted has bounded sizes, so the tensors it asks for can be walked.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "calkit/hf/rope.h"
#include "calkit/hf/spec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = calkit::parse_json(text, "config.json");
  if (!document.ok()) return 0;
  const auto spec = calkit::hf::parse_spec(calkit::Cursor(*document, "config.json"));
  if (!spec.ok()) return 0;
  std::size_t tensors = 0;
  calkit::hf::each_expected_tensor(*spec, [&](const auto&) { return ++tensors <= 300000; });
  if (tensors > 300000) std::abort();
  if (spec->layers > 0 && calkit::hf::kv_bytes_per_token(*spec, calkit::DType::kF32) == 0) std::abort();
  for (const float value : calkit::hf::inverse_frequencies(*spec))
    if (!std::isfinite(value)) std::abort();
  if (!(calkit::hf::attention_factor(*spec) > 0)) std::abort();
  return 0;
}
