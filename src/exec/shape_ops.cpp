// Operators that change or tell shapes: views (no bytes move), Transpose, Shape, Constant and the like.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "call.h"

namespace calkit::exec {
namespace {

Result<Shape> same_elements(const Call& call, const Tensor& x, Shape shape) {
  if (extent(shape, 0, shape.size()) != x.elements())
    return call.fault(0, tensor_text(x), "as many elements as " + shape_text(shape));
  return shape;
}

Result<Shape> view_reshape(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(Shape shape, call.ints(1));
  const bool zero_is_zero = call.node.int_or("allowzero", 0) != 0;
  std::size_t known = 1;
  std::ptrdiff_t open = -1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0 && !zero_is_zero) {
      if (axis >= x->rank()) return call.fault(1, fmt::format("0 at axis {}", axis), "an axis that the data has");
      shape[axis] = x->shape()[axis];
    }
    if (shape[axis] == -1 && open < 0) {
      open = static_cast<std::ptrdiff_t>(axis);
      continue;
    }
    if (shape[axis] < 0) return call.fault(1, shape_text(shape), "extents, and one -1 at most");
    if (__builtin_mul_overflow(known, static_cast<std::size_t>(shape[axis]), &known))
      return call.fault(1, shape_text(shape), "a shape that fits memory");
  }
  if (open >= 0) {
    if (known == 0 || x->elements() % known != 0)
      return call.fault(1, shape_text(shape), fmt::format("a shape of {} elements", x->elements()));
    shape[static_cast<std::size_t>(open)] = static_cast<std::int64_t>(x->elements() / known);
  }
  return same_elements(call, *x, std::move(shape));
}

Result<Shape> view_unsqueeze(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(const auto list, call.ints_or_attribute(1, "axes"));
  if (!list) return call.fault("no axes", "some");
  CALKIT_TRY(const auto axes, normal_axes(call, *list, x->rank() + list->size()));
  Shape shape = x->shape();
  for (const std::size_t axis : axes) shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  return shape;
}

Result<Shape> view_squeeze(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(const auto list, call.ints_or_attribute(1, "axes"));
  CALKIT_TRY(auto axes, normal_axes(call, list.value_or(Shape()), x->rank()));
  if (!list) {
    for (std::size_t axis = 0; axis < x->rank(); ++axis)
      if (x->shape()[axis] == 1) axes.push_back(axis);
  }
  Shape shape;
  for (std::size_t axis = 0; axis < x->rank(); ++axis) {
    if (!std::binary_search(axes.begin(), axes.end(), axis)) {
      shape.push_back(x->shape()[axis]);
    } else if (x->shape()[axis] != 1) {
      return call.fault(0, tensor_text(*x), fmt::format("extent 1 at axis {}", axis));
    }
  }
  return shape;
}

Result<Shape> view_flatten(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  const auto rank = static_cast<std::int64_t>(x->rank());
  const std::int64_t axis = call.node.int_or("axis", 1);
  if (axis < -rank || axis > rank)
    return call.fault(fmt::format("axis {}", axis), fmt::format("-{} to {}", rank, rank));
  const auto split = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  return Shape{static_cast<std::int64_t>(extent(x->shape(), 0, split)),
               static_cast<std::int64_t>(extent(x->shape(), split, x->rank()))};
}

Result<Shape> view_identity(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  return x->shape();
}

template <class T>
void permute(const Tensor& x, const std::vector<std::size_t>& strides, Tensor& y) {
  // The last axis of the result is the inner loop; the others count like an odometer.
  const Shape& shape = y.shape();
  const std::size_t rank = shape.size();
  const std::size_t inner = static_cast<std::size_t>(shape[rank - 1]), step = strides[rank - 1];
  const T* from = reinterpret_cast<const T*>(x.raw());
  T* to = reinterpret_cast<T*>(y.mutable_raw());
  std::vector<std::int64_t> at(rank, 0);
  std::size_t offset = 0;
  for (std::size_t run = extent(shape, 0, rank - 1); run-- > 0;) {
    if (step == 1)
      std::memcpy(to, from + offset, inner * sizeof(T));
    else
      for (std::size_t i = 0; i < inner; ++i) to[i] = from[offset + i * step];
    to += inner;
    for (std::size_t axis = rank - 1; axis-- > 0;) {
      offset += strides[axis];
      if (++at[axis] < shape[axis]) break;
      offset -= strides[axis] * static_cast<std::size_t>(shape[axis]);
      at[axis] = 0;
    }
  }
}

Status run_transpose(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  std::vector<std::int64_t> order(x->rank());
  std::iota(order.rbegin(), order.rend(), 0);
  if (const auto* perm = call.node.attribute("perm")) order = perm->ints;
  std::vector<std::int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size() || i < x->rank(); ++i)
    if (sorted.size() != x->rank() || sorted[i] != static_cast<std::int64_t>(i))
      return call.fault("perm " + shape_text(order), fmt::format("a permutation of {} axes", x->rank()));
  const auto own = strides_of(x->shape());
  Shape shape;
  std::vector<std::size_t> strides;
  for (const std::int64_t axis : order) {
    shape.push_back(x->dim(axis));
    strides.push_back(own[static_cast<std::size_t>(axis)]);
  }
  CALKIT_TRY(Tensor y, call.out(0, x->dtype(), shape));
  if (y.elements() == 0) return {};
  if (x->rank() == 0) return std::memcpy(y.mutable_raw(), x->raw(), x->bytes()), Status();
  visit_width(x->dtype(), [&]<class T>(T) { permute<T>(*x, strides, y); });
  return {};
}

Status run_shape(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  const auto rank = static_cast<std::int64_t>(x->rank());
  const auto bound = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t begin = bound(call.node.int_or("start", 0));
  const std::int64_t end = std::max(begin, bound(call.node.int_or("end", rank)));
  CALKIT_TRY(Tensor y, call.out(0, DType::kI64, {end - begin}));
  std::copy(x->shape().begin() + begin, x->shape().begin() + end, y.mutable_data<std::int64_t>().begin());
  return {};
}

Status run_size(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(Tensor y, call.out(0, DType::kI64, {}));
  y.mutable_data<std::int64_t>()[0] = static_cast<std::int64_t>(x->elements());
  return {};
}

Status emit(const Call& call, const Tensor& value) {
  CALKIT_TRY(Tensor y, call.out(0, value.dtype(), value.shape()));
  if (value.bytes() > 0) std::memcpy(y.mutable_raw(), value.raw(), value.bytes());
  return {};
}

Status run_constant(const Call& call) {
  using Kind = onnx::Attribute::Kind;
  if (call.node.attributes.size() != 1) return call.fault("not exactly one value attribute", "one value attribute");
  const onnx::Attribute& value = call.node.attributes.front();
  const auto count = [](const auto& list) { return Shape{static_cast<std::int64_t>(list.size())}; };
  if (value.kind == Kind::kTensor && value.tensor) return emit(call, *value.tensor);
  if (value.kind == Kind::kInt) return emit(call, Tensor::of<std::int64_t>({}, {value.i}));
  if (value.kind == Kind::kFloat) return emit(call, Tensor::of<float>({}, {value.f}));
  if (value.kind == Kind::kInts) return emit(call, Tensor::of<std::int64_t>(count(value.ints), value.ints));
  if (value.kind == Kind::kFloats) return emit(call, Tensor::of<float>(count(value.floats), value.floats));
  return call.fault("attribute '" + value.name + "'", "a tensor, a number or numbers");
}

Status run_constant_of_shape(const Call& call) {
  CALKIT_TRY(const Shape shape, call.ints(0));
  const auto* value = call.node.attribute("value");
  const Tensor fill = value != nullptr && value->tensor ? *value->tensor : Tensor::of<float>({1}, {0.0f});
  if (fill.elements() != 1) return call.fault("value " + tensor_text(fill), "one element");
  CALKIT_TRY(Tensor y, call.out(0, fill.dtype(), shape), node_label(call.node));
  const std::size_t width = dtype_bytes(fill.dtype());
  for (std::size_t at = 0; at < y.bytes(); at += width) std::memcpy(y.mutable_raw() + at, fill.raw(), width);
  return {};
}

}  // namespace

void register_shape_ops(Registry& registry) {
  registry[":Reshape"] = {.min_inputs = 2, .max_inputs = 2, .attributes = {"allowzero=i>=14"}, .view = &view_reshape};
  registry[":Unsqueeze"] = {.min_inputs = 1, .max_inputs = 2, .attributes = {"axes=I<13"}, .view = &view_unsqueeze};
  registry[":Squeeze"] = {.min_inputs = 1, .max_inputs = 2, .attributes = {"axes=I<13"}, .view = &view_squeeze};
  registry[":Flatten"] = {.min_inputs = 1, .max_inputs = 1, .attributes = {"axis=i"}, .view = &view_flatten};
  registry[":Identity"] = {.min_inputs = 1, .max_inputs = 1, .view = &view_identity};
  registry[":Transpose"] = {.min_inputs = 1, .max_inputs = 1, .attributes = {"perm=I"}, .run = &run_transpose};
  registry[":Shape"] = {
      .min_inputs = 1, .max_inputs = 1, .attributes = {"start=i>=15", "end=i>=15"}, .run = &run_shape};
  registry[":Size"] = {.min_inputs = 1, .max_inputs = 1, .run = &run_size};
  registry[":Constant"] = {
      .min_inputs = 0,
      .max_inputs = 0,
      .attributes = {"value=t", "value_int=i>=12", "value_ints=I>=12", "value_float=f>=12", "value_floats=F>=12"},
      .run = &run_constant};
  registry[":ConstantOfShape"] = {.min_inputs = 1,
                                  .max_inputs = 1,
                                  .attributes = {"value=t"},
                                  .run = &run_constant_of_shape,
                                  .types = kTypeI64,
                                  .native = kTypeI64,
                                  .narrowed = 0,
                                  .since = 9};
}

}  // namespace calkit::exec
