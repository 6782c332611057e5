// Safetensors files: the tensors of an accepted file lie inside it and do not hold more bytes than it has.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "calkit/hf/checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto tensors = calkit::hf::parse_safetensors(std::as_bytes(std::span(data, size)), "fuzz.safetensors");
  if (!tensors.ok()) return 0;
  std::uint64_t bytes = 10;  // length word and "{}" at least
  for (const auto& tensor : *tensors) {
    if (tensor.offset > size || tensor.bytes > size - tensor.offset) std::abort();
    bytes += tensor.bytes;
  }
  if (bytes > size) std::abort();
  return 0;
}
