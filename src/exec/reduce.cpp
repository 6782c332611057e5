// TopK and ReduceSum: what becomes smaller along axes.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "call.h"
#include "wide.h"

namespace calkit::exec {
namespace {

bool is_float_type(const Tensor& x) {
  return x.dtype() == DType::kF32 || x.dtype() == DType::kBF16;
}

template <class T>
void top_k_rows(const Tensor& x, std::size_t k, bool largest, Tensor& values, Tensor& indices) {
  const auto width = static_cast<std::size_t>(x.dim(-1));
  const std::size_t rows = width == 0 ? 0 : x.elements() / width;
  std::vector<std::int64_t> order(width);
  for (std::size_t row = 0; row < rows; ++row) {
    const T* from = x.data<T>().data() + row * width;
    std::iota(order.begin(), order.end(), 0);
    // Equal values: the smaller index first.
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(),
                      [&](std::int64_t a, std::int64_t b) {
                        const auto left = wide(from[a]), right = wide(from[b]);
                        return left != right ? (largest ? left > right : left < right) : a < b;
                      });
    for (std::size_t i = 0; i < k; ++i) {
      values.mutable_data<T>()[row * k + i] = from[order[i]];
      indices.mutable_data<std::int64_t>()[row * k + i] = order[i];
    }
  }
}

Status run_top_k(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(const auto wanted, call.ints(1));
  if (!is_float_type(*x)) return call.fault(0, tensor_text(*x), "f32 or bf16");
  CALKIT_TRY(const std::size_t axis, normal_axis(call, call.node.int_or("axis", -1), x->rank()));
  if (axis + 1 != x->rank()) return call.fault(fmt::format("axis {}", axis), "the last axis");
  if (wanted.size() != 1 || wanted[0] < 0 || wanted[0] > x->dim(-1))
    return call.fault(1, shape_text(wanted), fmt::format("one number from 0 to {}", x->dim(-1)));
  for (const float value : x->dtype() == DType::kF32 ? x->data<float>() : std::span<const float>())
    if (value != value) return call.fault(0, "NaN", "numbers that can be ranked");
  Shape shape = x->shape();
  shape.back() = wanted[0];
  CALKIT_TRY(Tensor values, call.out(0, x->dtype(), shape));
  CALKIT_TRY(Tensor indices, call.out(1, DType::kI64, shape));
  const bool largest = call.node.int_or("largest", 1) != 0;
  if (x->dtype() == DType::kF32)
    top_k_rows<float>(*x, static_cast<std::size_t>(wanted[0]), largest, values, indices);
  else
    top_k_rows<BF16>(*x, static_cast<std::size_t>(wanted[0]), largest, values, indices);
  return {};
}

// The axes that are summed: the operand's, or all of them where it is left out or empty.
Result<std::vector<bool>> summed_axes(const Call& call, std::size_t rank) {
  std::vector<bool> out(rank, false);
  bool any = false;
  if (call.optional(1) != nullptr) {
    CALKIT_TRY(const auto axes, call.ints(1));
    for (const std::int64_t axis : axes) {
      CALKIT_TRY(const std::size_t normal, normal_axis(call, axis, rank));
      out[normal] = any = true;
    }
  }
  if (!any && call.node.int_or("noop_with_empty_axes", 0) == 0) out.assign(rank, true);
  return out;
}

// Elements are added in the order of the operand, in F32, and rounded once.
Status run_reduce_sum(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  if (!is_float_type(*x)) return call.fault(0, tensor_text(*x), "f32 or bf16");
  CALKIT_TRY(const std::vector<bool> summed, summed_axes(call, x->rank()));
  CALKIT_TRY(const std::vector<float> from, to_floats(*x));
  Shape full = x->shape(), shape;
  const bool keep = call.node.int_or("keepdims", 1) != 0;
  for (std::size_t axis = 0; axis < full.size(); ++axis) {
    if (!summed[axis]) shape.push_back(full[axis]);
    if (summed[axis] && keep) shape.push_back(1);
    if (summed[axis]) full[axis] = 1;
  }
  CALKIT_TRY(Tensor y, call.out(0, x->dtype(), shape));
  std::vector<std::size_t> strides = strides_of(full);
  for (std::size_t axis = 0; axis < summed.size(); ++axis)
    if (summed[axis]) strides[axis] = 0;
  std::vector<float> sums(y.elements(), 0.0f);
  std::vector<std::int64_t> at(x->rank(), 0);
  std::size_t to = 0;
  for (const float value : from) {
    sums[to] += value;
    for (std::size_t axis = x->rank(); axis-- > 0;) {
      to += strides[axis];
      if (++at[axis] < x->shape()[axis]) break;
      to -= strides[axis] * static_cast<std::size_t>(x->shape()[axis]);
      at[axis] = 0;
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (x->dtype() == DType::kF32)
      y.mutable_data<float>()[i] = sums[i];
    else
      put(y.mutable_data<BF16>()[i], sums[i]);
  }
  return {};
}

}  // namespace

void register_reduce(Registry& registry) {
  registry[":TopK"] = {
      .min_inputs = 2, .max_inputs = 2, .attributes = {"axis", "largest", "sorted"}, .run = &run_top_k};
  registry[":ReduceSum"] = {
      .min_inputs = 1, .max_inputs = 2, .attributes = {"keepdims", "noop_with_empty_axes"}, .run = &run_reduce_sum};
}

}  // namespace calkit::exec
