#pragma once
/// One safetensors file, header only (private to hf). Every element type of the format is understood here, so that
/// triage can describe checkpoints that calkit does not run.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/tensor/tensor.h"

namespace calkit::hf {

struct RawTensor {
  std::string name;
  std::string dtype;  ///< as in the file: "BF16", "F8_E4M3", ...
  Shape shape;
  std::uint64_t elements = 0;
  std::uint64_t begin = 0, end = 0;  ///< in the file, header included
};
struct RawHeader {
  std::vector<RawTensor> tensors;  ///< sorted by name
  std::uint64_t bytes = 0;         ///< of the length word and the header
};

/// Checks everything that the header says against the file's size: the tensors tile the data without overlap, hole or
/// trailing bytes. @param file the name used in messages.
Result<RawHeader> parse_raw_header(std::span<const std::byte> bytes, std::string_view file);

}  // namespace calkit::hf
