#pragma once
/// Weights of int8 [n, k] with a scale for each row, times activations of int8 with a scale for each row.
#include <vector>

#include "call.h"
#include "int8_dot.h"

namespace calkit::exec {

class QuantizedLinear {
 public:
  /// @param w int8 [n, k], whose bytes stay referenced. @param scale F32 [n]. kInput where they are something else.
  static Result<QuantizedLinear> create(const onnx::Node& node, const Tensor& w, const Tensor& scale);

  std::size_t outputs() const { return scale_.size(); }
  std::size_t inputs() const { return static_cast<std::size_t>(w_.dim(1)); }
  /// y[row * (end - begin) + i] = F32(x[first + row] . w[begin + i]) * x_scale[first + row] * scale[begin + i], each
  /// product rounded to F32.
  void multiply(const Int8Rows& x, const float* x_scale, std::size_t first, std::size_t rows, std::size_t begin,
                std::size_t end, float* y) const;

 private:
  QuantizedLinear(const Tensor& w, const Tensor& scale);
  Tensor w_;
  std::vector<float> scale_;
  std::vector<std::int32_t> sums_;
};

/// Operands q int8 [..., K] and scale F32 [..., 1] of a call.
struct QuantizedRows {
  const Tensor* q = nullptr;
  const float* scale = nullptr;
  std::size_t rows = 0;
};
Result<QuantizedRows> read_quantized(const Call& call, std::size_t inputs);
/// Attribute `to`: F32, BF16 or F16.
Result<DType> read_float_type(const Call& call);

}  // namespace calkit::exec
