// TopK, ArgMax and ArgMin: which elements along an axis.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "call.h"
#include "wide.h"

namespace calkit::exec {
namespace {

// A row along an axis: element i is at base + i * step.
struct AxisRows {
  std::size_t width = 0, step = 1, rows = 0;
  AxisRows(const Shape& shape, std::size_t axis)
      : width(static_cast<std::size_t>(shape[axis])),
        step(extent(shape, axis + 1, shape.size())),
        rows(extent(shape, 0, axis) * step) {}
  std::size_t base(std::size_t row, std::size_t own_width) const { return row / step * step * own_width + row % step; }
};

template <class T>
auto comparable(T v) {
  if constexpr (std::is_same_v<T, BF16>)
    return to_float(v);
  else
    return v;
}

template <class T>
void top_k_rows(const Tensor& x, std::size_t axis, std::size_t k, bool largest, Tensor& values, Tensor& indices) {
  const AxisRows rows(x.shape(), axis);
  std::vector<std::int64_t> order(rows.width);
  const T* from = x.data<T>().data();
  for (std::size_t row = 0; rows.width > 0 && row < rows.rows; ++row) {
    const T* first = from + rows.base(row, rows.width);
    std::iota(order.begin(), order.end(), 0);
    // Equal values: the smaller index first.
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(),
                      [&](std::int64_t a, std::int64_t b) {
                        const auto left = comparable(first[static_cast<std::size_t>(a) * rows.step]),
                                   right = comparable(first[static_cast<std::size_t>(b) * rows.step]);
                        return left != right ? (largest ? left > right : left < right) : a < b;
                      });
    const std::size_t to = rows.base(row, k);
    for (std::size_t i = 0; i < k; ++i) {
      values.mutable_data<T>()[to + i * rows.step] = first[static_cast<std::size_t>(order[i]) * rows.step];
      indices.mutable_data<std::int64_t>()[to + i * rows.step] = order[i];
    }
  }
}

template <class Visit>
auto visit_ranked(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::kF32:
      return visit(float{});
    case DType::kBF16:
      return visit(BF16{});
    case DType::kF64:
      return visit(double{});
    case DType::kU64:
      return visit(std::uint64_t{});
    default:
      return visit(std::int64_t{});
  }
}

Status run_top_k(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(const std::size_t axis, normal_axis(call, call.node.int_or("axis", -1), x->rank()));
  std::int64_t wanted = call.node.int_or("k", -1);
  if (call.opset >= 10) {
    CALKIT_TRY(wanted, call.one_int(1));
  }
  if (wanted < 0 || wanted > x->shape()[axis])
    return call.fault(fmt::format("k = {}", wanted), fmt::format("one number from 0 to {}", x->shape()[axis]));
  for (const float value : x->dtype() == DType::kF32 ? x->data<float>() : std::span<const float>())
    if (value != value) return call.fault(0, "NaN", "numbers that can be ranked");
  Shape shape = x->shape();
  shape[axis] = wanted;
  CALKIT_TRY(Tensor values, call.out(0, x->dtype(), shape));
  CALKIT_TRY(Tensor indices, call.out(1, DType::kI64, shape));
  const bool largest = call.node.int_or("largest", 1) != 0;
  visit_ranked(x->dtype(), [&]<class T>(T) {
    top_k_rows<T>(*x, axis, static_cast<std::size_t>(wanted), largest, values, indices);
  });
  return {};
}

template <bool kLargest>
Status run_arg(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(const std::size_t axis, normal_axis(call, call.node.int_or("axis", 0), x->rank()));
  const bool last = call.node.int_or("select_last_index", 0) != 0;
  Shape shape = x->shape();
  if (call.node.int_or("keepdims", 1) != 0)
    shape[axis] = 1;
  else
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  const AxisRows rows(x->shape(), axis);
  if (rows.width == 0 && rows.rows > 0) return call.fault(0, tensor_text(*x), "elements along the axis");
  CALKIT_TRY(Tensor y, call.out(0, DType::kI64, shape));
  auto to = y.mutable_data<std::int64_t>();
  visit_ranked(x->dtype(), [&]<class T>(T) {
    const T* from = x->data<T>().data();
    for (std::size_t row = 0; row < to.size(); ++row) {
      const T* first = from + rows.base(row, rows.width);
      std::size_t best = 0;
      for (std::size_t i = 1; i < rows.width; ++i) {
        const auto found = comparable(first[i * rows.step]), held = comparable(first[best * rows.step]);
        if ((kLargest ? found > held : found < held) || (last && found == held)) best = i;
      }
      to[row] = static_cast<std::int64_t>(best);
    }
  });
  return {};
}

}  // namespace

void register_top_k(Registry& registry) {
  constexpr Types kNative = kLinearTypes | kTypeF64 | kTypeI64 | kTypeU64;
  registry[":TopK"] = {.min_inputs = 1,
                       .max_inputs = 2,
                       .attributes = {"axis=i", "largest=i>=11", "sorted=i>=11", "k=i<10"},
                       .run = &run_top_k,
                       .types = kNumbers,
                       .native = kNative};
  const auto add = [&](const char* name, RunFunction run) {
    registry[name] = {.min_inputs = 1,
                      .max_inputs = 1,
                      .attributes = {"axis=i", "keepdims=i", "select_last_index=i>=12"},
                      .run = run,
                      .types = kNumbers,
                      .native = kNative,
                      .narrowed = 0};
  };
  add(":ArgMax", &run_arg<true>);
  add(":ArgMin", &run_arg<false>);
}

}  // namespace calkit::exec
