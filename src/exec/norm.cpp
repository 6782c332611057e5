// RMSNormalization: rows in F32, whatever the element type.
#include "norm.h"

#include <fmt/format.h>

#include <cmath>

#include "dot.h"
#include "float_rows.h"

namespace calkit::exec {

Result<RmsNorm> read_rms_norm(const Call& call) {
  RmsNorm out;
  CALKIT_TRY(out.x, call.input(0));
  CALKIT_TRY(const Tensor* weight, call.input(1));
  const Tensor& x = *out.x;
  if (weight->dtype() != x.dtype())
    return call.fault(1, tensor_text(*weight), fmt::format("{}, as the first operand", dtype_name(x.dtype())));
  if (call.node.int_or("stash_type", 1) != 1) return call.fault("another stash_type", "1 (f32)");
  CALKIT_TRY(const std::size_t axis, normal_axis(call, call.node.int_or("axis", -1), x.rank()));
  out.width = extent(x.shape(), axis, x.rank());
  const Shape normalized(x.shape().begin() + static_cast<std::ptrdiff_t>(axis), x.shape().end());
  if (weight->shape() != normalized) return call.fault(1, tensor_text(*weight), shape_text(normalized));
  CALKIT_TRY(out.weight, to_floats(*weight));
  out.rows = out.width == 0 ? 0 : extent(x.shape(), 0, axis);
  out.epsilon = call.node.float_or("epsilon", 1e-5f);
  return out;
}

void rms_norm_row(const RmsNorm& norm, const float* x, bool round, float* y) {
  const std::size_t width = norm.width;
  float squares = 0;
  dot_rows(best_isa(), x, width, 1, Rows{x, false, width}, 1, width, &squares, 1);
  const float factor = 1.0f / std::sqrt(squares / static_cast<float>(width) + norm.epsilon);
  for (std::size_t i = 0; i < width; ++i) {
    const float normal = x[i] * factor;
    y[i] = (round ? round_bf16(normal) : normal) * norm.weight[i];
  }
}

namespace {

Status run_rms_normalization(const Call& call) {
  CALKIT_TRY(const RmsNorm norm, read_rms_norm(call));
  const DType dtype = norm.x->dtype();
  CALKIT_TRY(Tensor y, call.out(0, dtype, norm.x->shape()));
  FloatRows rows(norm.width);
  std::vector<float> result(norm.width);
  for (std::size_t row = 0; row < norm.rows; ++row) {
    rms_norm_row(norm, rows.read(*norm.x, row), dtype == DType::kBF16, result.data());
    write_numbers(y, row * norm.width, norm.width, result.data());
  }
  return {};
}

}  // namespace

void register_norm(Registry& registry) {
  Operator& standard = registry[":RMSNormalization"] = {.min_inputs = 2,
                                                        .max_inputs = 2,
                                                        .attributes = {"axis=i", "epsilon=f", "stash_type=i"},
                                                        .run = &run_rms_normalization,
                                                        .types = kFloat16Types,
                                                        .native = kLinearTypes,
                                                        .since = 23};
  Operator& fused = registry["calkit.fused:RmsNorm"] = standard;
  fused.attributes = {"epsilon=f"};
}

}  // namespace calkit::exec
