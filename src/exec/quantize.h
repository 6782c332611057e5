#pragma once
/// Integers that stand for numbers.
#include <utility>
#include <vector>

#include "call.h"

namespace calkit::exec {

/// Least and greatest value; 32 bits for anything that is not of 8 or 16.
std::pair<std::int64_t, std::int64_t> integer_range(DType dtype);
/// y[index] = round(value) + zero, saturated; halves go to the even number.
void store_quantized(Tensor& y, std::size_t index, double value, std::int64_t zero);
/// All values of an integer tensor.
Result<std::vector<std::int64_t>> zero_points(const Tensor& tensor);

}  // namespace calkit::exec
