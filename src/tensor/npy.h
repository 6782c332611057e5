#pragma once
/// One array in NumPy's .npy form (private to tensor).
#include <span>
#include <string>
#include <string_view>

#include "calkit/tensor/tensor.h"

namespace calkit::npy {

/// What numpy.lib.format writes before the data: magic, version 1.0, padded dictionary. BF16 is described as float32.
Result<std::string> header(DType dtype, const Shape& shape);

/// Parses a whole .npy member: exactly the header and the data it announces.
/// @param where the file and member named in messages.
Result<Tensor> parse(std::span<const std::byte> bytes, std::string_view where);

}  // namespace calkit::npy
