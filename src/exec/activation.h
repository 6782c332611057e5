#pragma once
/// The exponential and what is made of it. The vector code and its scalar twin give the same bits.
#include <cstddef>

#include "calkit/tensor/dtype.h"
#include "cpu.h"

namespace calkit::exec {

/// y = silu(gate) * up, silu(x) = x / (1 + exp(-x)). BF16: silu is rounded, then the product.
void swiglu(Isa isa, const float* gate, const float* up, float* y, std::size_t count);
void swiglu(Isa isa, const BF16* gate, const BF16* up, BF16* y, std::size_t count);

/// Softmax in place. A row in which everything is masked (-infinity) attends to nothing: zeros.
void softmax(Isa isa, float* values, std::size_t count);

}  // namespace calkit::exec
