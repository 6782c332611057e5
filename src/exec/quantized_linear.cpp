#include "quantized_linear.h"

#include <fmt/format.h>

namespace calkit::exec {

QuantizedLinear::QuantizedLinear(const Tensor& w, const Tensor& scale)
    : w_(w),
      scale_(scale.data<float>().begin(), scale.data<float>().end()),
      sums_(int8_sums(w.data<std::int8_t>().data(), static_cast<std::size_t>(w.dim(0)),
                      static_cast<std::size_t>(w.dim(1)))) {}

Result<QuantizedLinear> QuantizedLinear::create(const onnx::Node& node, const Tensor& w, const Tensor& scale) {
  if (w.rank() != 2 || w.dtype() != DType::kI8)
    return input_error("graph", node_label(node) + ": the quantised weight", tensor_text(w), "i8 [N, K]");
  if (scale.dtype() != DType::kF32 || scale.shape() != Shape{w.dim(0)})
    return input_error("graph", node_label(node) + ": the scales of the weight", tensor_text(scale),
                       fmt::format("f32 [{}]", w.dim(0)));
  return QuantizedLinear(w, scale);
}

void QuantizedLinear::multiply(const Int8Rows& x, const float* x_scale, std::size_t first, std::size_t rows,
                               std::size_t begin, std::size_t end, float* y) const {
  const std::size_t n = end - begin;
  std::vector<std::int32_t> sums(rows * n);
  dot_int8(x, first, rows, w_.data<std::int8_t>().data() + begin * inputs(), sums_.data() + begin, n, sums.data(), n);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < n; ++i)
      y[row * n + i] = static_cast<float>(sums[row * n + i]) * x_scale[first + row] * scale_[begin + i];
}

Result<QuantizedRows> read_quantized(const Call& call, std::size_t inputs) {
  QuantizedRows out;
  CALKIT_TRY(out.q, call.input(0));
  CALKIT_TRY(const Tensor* scale, call.input(1));
  if (out.q->dtype() != DType::kI8 || out.q->rank() == 0 || out.q->dim(-1) != static_cast<std::int64_t>(inputs))
    return call.fault(0, tensor_text(*out.q), fmt::format("i8 with a last axis of {}", inputs));
  Shape column = out.q->shape();
  column.back() = 1;
  if (scale->dtype() != DType::kF32 || scale->shape() != column)
    return call.fault(1, tensor_text(*scale), "f32 " + shape_text(column));
  out.scale = scale->data<float>().data();
  out.rows = extent(column, 0, column.size());
  return out;
}

Result<DType> read_float_type(const Call& call) {
  const std::int64_t code = call.node.int_or("to", 0);
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    if (code == onnx::from_dtype(dtype)) return dtype;
  return call.fault(fmt::format("to = {}", code), "1 (f32), 10 (f16) or 16 (bf16)");
}

}  // namespace calkit::exec
