#pragma once
/// Rows of a tensor of F32, BF16 or F16 as F32, and back with one rounding.
#include <algorithm>
#include <vector>

#include "calkit/tensor/tensor.h"
#include "dot.h"

namespace calkit::exec {

/// Each number to the nearest of the type.
inline void round_row(DType dtype, float* values, std::size_t count) {
  if (dtype == DType::kBF16) scale_and_round(best_isa(), values, 1.0f, count);
  if (dtype == DType::kF16)
    for (std::size_t i = 0; i < count; ++i) values[i] = f16_to_float(float_to_f16(values[i]));
}

inline void read_numbers(const Tensor& x, std::size_t first, std::size_t count, float* to) {
  if (x.dtype() == DType::kF32) std::copy_n(x.data<float>().data() + first, count, to);
  if (x.dtype() == DType::kBF16) widen(best_isa(), x.data<BF16>().data() + first, to, count);
  if (x.dtype() == DType::kF16)
    for (std::size_t i = 0; i < count; ++i) to[i] = f16_to_float(x.data<std::uint16_t>()[first + i]);
}

inline void write_numbers(Tensor& y, std::size_t first, std::size_t count, const float* from) {
  if (y.dtype() == DType::kF32) std::copy_n(from, count, y.mutable_data<float>().data() + first);
  if (y.dtype() == DType::kBF16) narrow(best_isa(), from, y.mutable_data<BF16>().data() + first, count);
  if (y.dtype() == DType::kF16)
    for (std::size_t i = 0; i < count; ++i) y.mutable_data<std::uint16_t>()[first + i] = float_to_f16(from[i]);
}

/// Reads row after row; F32 rows are not copied.
class FloatRows {
 public:
  explicit FloatRows(std::size_t width) : buffer_(width) {}
  const float* read(const Tensor& x, std::size_t row) {
    const std::size_t width = buffer_.size();
    if (x.dtype() == DType::kF32) return x.data<float>().data() + row * width;
    read_numbers(x, row * width, width, buffer_.data());
    return buffer_.data();
  }

 private:
  std::vector<float> buffer_;
};

}  // namespace calkit::exec
