// OneHot, EyeLike and Dropout (which does nothing when a model is used, not trained).
#include <fmt/format.h>

#include <cstring>

#include "call.h"

namespace calkit::exec {
namespace {

// values = [off, on]; an index outside of the depth gives a row of "off".
Status run_one_hot(const Call& call) {
  CALKIT_TRY(const Tensor* indices, call.input(0));
  CALKIT_TRY(const Tensor* depth_operand, call.input(1));
  CALKIT_TRY(const Tensor* values, call.input(2));
  CALKIT_TRY(const Tensor wanted, convert(*indices, DType::kI64), node_label(call.node));
  CALKIT_TRY(const Tensor depths, convert(*depth_operand, DType::kI64), node_label(call.node));
  if (depths.elements() != 1 || depths.data<std::int64_t>()[0] < 0)
    return call.fault(1, tensor_text(*depth_operand), "one number that is not negative");
  if (values->elements() != 2) return call.fault(2, tensor_text(*values), "two values");
  const std::int64_t depth = depths.data<std::int64_t>()[0];
  CALKIT_TRY(const std::size_t axis, normal_axis(call, call.node.int_or("axis", -1), indices->rank() + 1));
  Shape shape = indices->shape();
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  CALKIT_TRY(Tensor y, call.out(0, values->dtype(), shape));
  const std::size_t width = dtype_bytes(values->dtype()), step = extent(shape, axis + 1, shape.size());
  for (std::size_t i = 0; i < y.elements(); ++i) std::memcpy(y.mutable_raw() + i * width, values->raw(), width);
  for (std::size_t i = 0; i < wanted.elements(); ++i) {
    std::int64_t index = wanted.data<std::int64_t>()[i];
    if (index < 0) index += depth;
    if (index < 0 || index >= depth) continue;
    const std::size_t at =
        (i / step * static_cast<std::size_t>(depth) + static_cast<std::size_t>(index)) * step + i % step;
    std::memcpy(y.mutable_raw() + at * width, values->raw() + width, width);
  }
  return {};
}

Status run_eye_like(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  if (x->rank() != 2) return call.fault(0, tensor_text(*x), "rank 2");
  const auto code = call.node.int_or("dtype", onnx::from_dtype(x->dtype()));
  const auto dtype = onnx::to_dtype(static_cast<onnx::ElementType>(code));
  if (!dtype) return call.fault(fmt::format("dtype {}", code), "an element type that calkit computes with");
  CALKIT_TRY(const Tensor one, convert(Tensor::of<float>({1}, {1.0f}), *dtype));
  CALKIT_TRY(Tensor y, call.out(0, *dtype, x->shape()));
  if (y.bytes() > 0) std::memset(y.mutable_raw(), 0, y.bytes());
  const std::int64_t k = call.node.int_or("k", 0), rows = x->dim(0), columns = x->dim(1);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t column = 0;
    if (__builtin_add_overflow(row, k, &column) || column < 0 || column >= columns) continue;
    std::memcpy(y.mutable_raw() + static_cast<std::size_t>(row * columns + column) * one.bytes(), one.raw(),
                one.bytes());
  }
  return {};
}

Status run_dropout(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  if (const Tensor* training = call.optional(2))
    if (training->dtype() != DType::kBool || training->elements() != 1 || training->data<std::uint8_t>()[0] != 0)
      return call.fault(2, "training", "training_mode false");
  CALKIT_TRY(Tensor y, call.out(0, x->dtype(), x->shape()));
  if (y.bytes() > 0) std::memcpy(y.mutable_raw(), x->raw(), y.bytes());
  if (!call.names_output(1)) return {};
  CALKIT_TRY(Tensor mask, call.out(1, call.opset < 10 ? x->dtype() : DType::kBool, x->shape()));
  if (call.opset < 10) {
    CALKIT_TRY(const Tensor one, convert(Tensor::of<float>({1}, {1.0f}), x->dtype()));
    for (std::size_t at = 0; at < mask.bytes(); at += one.bytes())
      std::memcpy(mask.mutable_raw() + at, one.raw(), one.bytes());
  } else if (mask.bytes() > 0) {
    std::memset(mask.mutable_raw(), 1, mask.bytes());
  }
  return {};
}

}  // namespace

void register_fill(Registry& registry) {
  registry[":OneHot"] = {.min_inputs = 3,
                         .max_inputs = 3,
                         .attributes = {"axis=i"},
                         .run = &run_one_hot,
                         .types = kNumbers,
                         .native = kNumbers,
                         .narrowed = 0,
                         .since = 9};
  registry[":EyeLike"] = {
      .min_inputs = 1, .max_inputs = 1, .attributes = {"dtype=i", "k=i"}, .run = &run_eye_like, .since = 9};
  registry[":Dropout"] = {.min_inputs = 1,
                          .max_inputs = 3,
                          .attributes = {"ratio=f<12", "seed=i>=12"},
                          .run = &run_dropout,
                          .types = kFloatTypes,
                          .native = kFloatTypes};
}

}  // namespace calkit::exec
