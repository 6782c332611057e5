// One NumPy array: what is accepted holds exactly the bytes behind its header, and is read back the same once written.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "tensor/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto tensor = calkit::npy::parse(std::as_bytes(std::span(data, size)), "fuzz.npy");
  if (!tensor.ok()) return 0;
  if (tensor->bytes() > size) std::abort();
  const auto header = calkit::npy::header(tensor->dtype(), tensor->shape());
  if (!header.ok()) std::abort();
  std::string written = *header;
  if (tensor->bytes() != 0) written.append(reinterpret_cast<const char*>(tensor->raw()), tensor->bytes());
  const auto again = calkit::npy::parse(std::as_bytes(std::span(written)), "again.npy");
  if (!again.ok() || again->dtype() != tensor->dtype() || again->shape() != tensor->shape()) std::abort();
  if (tensor->bytes() != 0 && std::memcmp(again->raw(), tensor->raw(), tensor->bytes()) != 0) std::abort();
  return 0;
}
