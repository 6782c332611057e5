// NumPy archives: any bytes give tensors or an error; a tensor's bytes never exceed the input's.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "calkit/tensor/npz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto members = calkit::parse_npz(std::as_bytes(std::span(data, size)), "fuzz.npz");
  if (!members.ok()) return 0;
  std::size_t bytes = 0;
  for (const auto& [name, tensor] : *members) bytes += tensor.bytes();
  if (bytes > size) std::abort();
  return 0;
}
