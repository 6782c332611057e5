// LayerNormalization, GroupNormalization and LpNormalization: rows in F32.
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "call.h"

namespace calkit::exec {
namespace {

struct Moments {
  double mean = 0, inverse = 0;  ///< inverse: one over the standard deviation
};
Moments moments_of(const float* row, std::size_t width, float epsilon) {
  Moments out;
  for (std::size_t i = 0; i < width; ++i) out.mean += static_cast<double>(row[i]);
  out.mean /= static_cast<double>(width);
  double squares = 0;
  for (std::size_t i = 0; i < width; ++i) {
    const double apart = static_cast<double>(row[i]) - out.mean;
    squares += apart * apart;
  }
  out.inverse = 1.0 / std::sqrt(squares / static_cast<double>(width) + static_cast<double>(epsilon));
  return out;
}

// A weight that broadcasts to a row: its own trailing axes, or one number.
Status check_weight(const Call& call, std::size_t index, const Shape& row) {
  const Tensor* weight = call.optional(index);
  if (weight == nullptr) return {};
  const std::size_t count = extent(row, 0, row.size());
  if (weight->rank() <= row.size() && (weight->elements() == count || weight->elements() == 1)) return {};
  return call.fault(index, tensor_text(*weight), "a shape that fits " + shape_text(row));
}

float weight_at(const Tensor* weight, std::size_t index, float otherwise) {
  if (weight == nullptr) return otherwise;
  return weight->data<float>()[weight->elements() == 1 ? 0 : index];
}

Status run_layer_normalization(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  if (call.node.int_or("stash_type", 1) != 1) return call.fault("another stash_type", "1 (f32)");
  CALKIT_TRY(const std::size_t axis, normal_axis(call, call.node.int_or("axis", -1), x->rank()));
  const Shape row(x->shape().begin() + static_cast<std::ptrdiff_t>(axis), x->shape().end());
  CALKIT_CHECK_OK(check_weight(call, 1, row));
  CALKIT_CHECK_OK(check_weight(call, 2, row));
  const Tensor *scale = call.optional(1), *bias = call.optional(2);
  const float epsilon = call.node.float_or("epsilon", 1e-5f);
  CALKIT_TRY(Tensor y, call.out(0, x->dtype(), x->shape()));
  Shape outer = x->shape();
  for (std::size_t i = axis; i < outer.size(); ++i) outer[i] = 1;
  std::optional<Tensor> means, inverses;
  if (call.names_output(1)) {
    CALKIT_TRY(means, call.out(1, DType::kF32, outer));
  }
  if (call.names_output(2)) {
    CALKIT_TRY(inverses, call.out(2, DType::kF32, outer));
  }
  const std::size_t width = extent(x->shape(), axis, x->rank());
  const std::size_t rows = width == 0 ? 0 : extent(x->shape(), 0, axis);
  for (std::size_t i = 0; i < rows; ++i) {
    const float* from = x->data<float>().data() + i * width;
    float* to = y.mutable_data<float>().data() + i * width;
    const Moments moments = moments_of(from, width, epsilon);
    for (std::size_t j = 0; j < width; ++j)
      to[j] =
          static_cast<float>((static_cast<double>(from[j]) - moments.mean) * moments.inverse) * weight_at(scale, j, 1) +
          weight_at(bias, j, 0);
    if (means) means->mutable_data<float>()[i] = static_cast<float>(moments.mean);
    if (inverses) inverses->mutable_data<float>()[i] = static_cast<float>(moments.inverse);
  }
  return {};
}

// x [N, C, ...]; the channels of a group share mean and deviation, scale and bias are of each channel (opset 21 on).
Status run_group_normalization(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  if (call.node.int_or("stash_type", 1) != 1) return call.fault("another stash_type", "1 (f32)");
  if (x->rank() < 2) return call.fault(0, tensor_text(*x), "rank 2 or more");
  const std::int64_t channels = x->dim(1), groups = call.node.int_or("num_groups", 0);
  if (groups < 1 || channels % groups != 0)
    return call.fault(fmt::format("num_groups {}", groups), fmt::format("a divisor of {}", channels));
  for (const std::size_t index : {std::size_t{1}, std::size_t{2}}) {
    CALKIT_TRY(const Tensor* weight, call.input(index));
    if (weight->shape() != Shape{channels}) return call.fault(index, tensor_text(*weight), shape_text({channels}));
  }
  CALKIT_TRY(Tensor y, call.out(0, x->dtype(), x->shape()));
  const std::size_t area = extent(x->shape(), 2, x->rank()), each = static_cast<std::size_t>(channels / groups);
  const std::size_t width = area * each;
  for (std::size_t i = 0; width > 0 && i < x->elements() / width; ++i) {
    const float* from = x->data<float>().data() + i * width;
    float* to = y.mutable_data<float>().data() + i * width;
    const Moments moments = moments_of(from, width, call.node.float_or("epsilon", 1e-5f));
    for (std::size_t j = 0; j < width; ++j) {
      const std::size_t channel = i % static_cast<std::size_t>(groups) * each + j / area;
      to[j] = static_cast<float>((static_cast<double>(from[j]) - moments.mean) * moments.inverse) *
                  weight_at(call.inputs[1], channel, 1) +
              weight_at(call.inputs[2], channel, 0);
    }
  }
  return {};
}

// A norm of zero leaves zeros.
Status run_lp_normalization(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(const std::size_t axis, normal_axis(call, call.node.int_or("axis", -1), x->rank()));
  const std::int64_t p = call.node.int_or("p", 2);
  if (p != 1 && p != 2) return call.fault(fmt::format("p = {}", p), "1 or 2");
  CALKIT_TRY(Tensor y, call.out(0, x->dtype(), x->shape()));
  const auto width = static_cast<std::size_t>(x->shape()[axis]);
  const std::size_t step = extent(x->shape(), axis + 1, x->rank());
  const auto from = x->data<float>();
  auto to = y.mutable_data<float>();
  for (std::size_t i = 0; width > 0 && i < from.size() / width; ++i) {
    const std::size_t base = i / step * step * width + i % step;
    double sum = 0;
    for (std::size_t j = 0; j < width; ++j) {
      const auto value = static_cast<double>(from[base + j * step]);
      sum += p == 1 ? std::fabs(value) : value * value;
    }
    const double norm = p == 1 ? sum : std::sqrt(sum);
    for (std::size_t j = 0; j < width; ++j)
      to[base + j * step] = norm == 0 ? 0.0f : static_cast<float>(static_cast<double>(from[base + j * step]) / norm);
  }
  return {};
}

}  // namespace

void register_layer_norm(Registry& registry) {
  registry[":LayerNormalization"] = {.min_inputs = 2,
                                     .max_inputs = 3,
                                     .attributes = {"axis=i", "epsilon=f", "stash_type=i"},
                                     .run = &run_layer_normalization,
                                     .types = kFloat16Types,
                                     .native = kTypeF32,
                                     .same = kEach,
                                     .since = 17};
  registry[":GroupNormalization"] = {.min_inputs = 3,
                                     .max_inputs = 3,
                                     .attributes = {"num_groups=i", "epsilon=f", "stash_type=i"},
                                     .run = &run_group_normalization,
                                     .types = kFloat16Types,
                                     .native = kTypeF32,
                                     .same = kEach,
                                     .since = 21};
  registry[":LpNormalization"] = {.min_inputs = 1,
                                  .max_inputs = 1,
                                  .attributes = {"axis=i", "p=i"},
                                  .run = &run_lp_normalization,
                                  .types = kFloat16Types,
                                  .native = kTypeF32};
}

}  // namespace calkit::exec
