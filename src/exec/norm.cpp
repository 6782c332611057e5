// RMSNormalization: rows in F32, whatever the element type.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "call.h"
#include "dot.h"

namespace calkit::exec {
namespace {

// Rows of a tensor as F32, and back.
class FloatRows {
 public:
  explicit FloatRows(std::size_t width) : buffer_(width) {}
  const float* read(const Tensor& x, std::size_t row) {
    const std::size_t width = buffer_.size();
    if (x.dtype() == DType::kF32) return x.data<float>().data() + row * width;
    widen(best_isa(), x.data<BF16>().data() + row * width, buffer_.data(), width);
    return buffer_.data();
  }

 private:
  std::vector<float> buffer_;
};

void write_row(Tensor& y, std::size_t row, const std::vector<float>& values) {
  if (y.dtype() == DType::kF32)
    std::copy(values.begin(), values.end(), y.mutable_data<float>().data() + row * values.size());
  else
    narrow(best_isa(), values.data(), y.mutable_data<BF16>().data() + row * values.size(), values.size());
}

// BF16: the normalised value is rounded before it meets the weight, as the peers do.
Status run_rms_normalization(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(const Tensor* weight, call.input(1));
  if (weight->dtype() != x->dtype())
    return call.fault(1, tensor_text(*weight), fmt::format("{}, as the first operand", dtype_name(x->dtype())));
  if (call.node.int_or("stash_type", 1) != 1) return call.fault("another stash_type", "1 (f32)");
  CALKIT_TRY(const std::size_t axis, normal_axis(call, call.node.int_or("axis", -1), x->rank()));
  const std::size_t width = extent(x->shape(), axis, x->rank());
  const Shape normalized(x->shape().begin() + static_cast<std::ptrdiff_t>(axis), x->shape().end());
  if (weight->shape() != normalized) return call.fault(1, tensor_text(*weight), shape_text(normalized));
  const float epsilon = call.node.float_or("epsilon", 1e-5f);
  CALKIT_TRY(Tensor y, call.out(0, x->dtype(), x->shape()));
  CALKIT_TRY(const std::vector<float> scale, to_floats(*weight));
  const bool round = x->dtype() == DType::kBF16;
  FloatRows rows(width);
  std::vector<float> result(width);
  const std::size_t count = width == 0 ? 0 : extent(x->shape(), 0, axis);
  for (std::size_t row = 0; row < count; ++row) {
    const float* from = rows.read(*x, row);
    float squares = 0;
    dot_rows(best_isa(), from, width, 1, Rows{from, false, width}, 1, width, &squares, 1);
    const float factor = 1.0f / std::sqrt(squares / static_cast<float>(width) + epsilon);
    for (std::size_t i = 0; i < width; ++i) {
      const float normal = from[i] * factor;
      result[i] = (round ? round_bf16(normal) : normal) * scale[i];
    }
    write_row(y, row, result);
  }
  return {};
}

}  // namespace

void register_norm(Registry& registry) {
  registry[":RMSNormalization"] = {.min_inputs = 2,
                                   .max_inputs = 2,
                                   .attributes = {"axis=i", "epsilon=f", "stash_type=i"},
                                   .run = &run_rms_normalization,
                                   .types = kFloat16Types,
                                   .native = kLinearTypes,
                                   .since = 23};
}

}  // namespace calkit::exec
