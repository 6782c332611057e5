#pragma once
/// A row of numbers as int8 with one scale: the largest magnitude at 127, halves to even.
#include <cstddef>
#include <cstdint>

#include "cpu.h"

namespace calkit::exec {

/// q[i] = round(x[i] / scale), scale = max(largest magnitude / 127, 1e-30).
/// @return false, and q is not written, where a number is not finite.
bool quantize_row(Isa isa, const float* x, std::size_t count, std::int8_t* q, float& scale);

}  // namespace calkit::exec
