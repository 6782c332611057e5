// CumSum and CumProd along an axis; Trilu.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "call.h"

namespace calkit::exec {
namespace {

template <class T, bool kProduct>
void run_along(const Tensor& x, Tensor& y, std::size_t axis, bool exclusive, bool backwards) {
  const auto width = static_cast<std::size_t>(x.shape()[axis]);
  const std::size_t step = extent(x.shape(), axis + 1, x.rank());
  const auto from = x.data<T>();
  auto to = y.mutable_data<T>();
  const auto join = [](T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return kProduct ? a * b : a + b;
    else  // integers wrap
      return static_cast<T>(kProduct ? static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b)
                                     : static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  };
  for (std::size_t row = 0; width > 0 && row < from.size() / width; ++row) {
    const std::size_t base = row / step * step * width + row % step;
    T total = kProduct ? 1 : 0;
    for (std::size_t i = 0; i < width; ++i) {
      const std::size_t at = base + (backwards ? width - 1 - i : i) * step;
      const T next = join(total, from[at]);
      to[at] = exclusive ? total : next;
      total = next;
    }
  }
}

template <bool kProduct>
Status run_cumulative(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(const std::int64_t wanted, call.one_int(1));
  CALKIT_TRY(const std::size_t axis, normal_axis(call, wanted, x->rank()));
  const bool exclusive = call.node.int_or("exclusive", 0) != 0, backwards = call.node.int_or("reverse", 0) != 0;
  CALKIT_TRY(Tensor y, call.out(0, x->dtype(), x->shape()));
  switch (x->dtype()) {
    case DType::kF32:
      run_along<float, kProduct>(*x, y, axis, exclusive, backwards);
      break;
    case DType::kF64:
      run_along<double, kProduct>(*x, y, axis, exclusive, backwards);
      break;
    default:  // the bits of a wrapped sum do not depend on the sign
      run_along<std::int64_t, kProduct>(*x, y, axis, exclusive, backwards);
      break;
  }
  return {};
}

// What is below (upper) or above (lower) the diagonal k becomes zero.
Status run_trilu(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  if (x->rank() < 2) return call.fault(0, tensor_text(*x), "rank 2 or more");
  std::int64_t k = 0;
  if (call.optional(1) != nullptr) {
    CALKIT_TRY(k, call.one_int(1));
  }
  const bool upper = call.node.int_or("upper", 1) != 0;
  CALKIT_TRY(Tensor y, call.out(0, x->dtype(), x->shape()));
  const std::int64_t rows = x->dim(-2), columns = x->dim(-1);
  const std::size_t width = dtype_bytes(x->dtype());
  if (x->elements() == 0) return {};
  k = std::clamp(k, -rows, columns);
  const std::size_t matrices = extent(x->shape(), 0, x->rank() - 2);
  for (std::size_t index = 0; index < matrices * static_cast<std::size_t>(rows); ++index) {
    const std::int64_t row = static_cast<std::int64_t>(index) % rows;
    // Columns kept: from the diagonal on, or up to it.
    const std::int64_t first = upper ? std::clamp<std::int64_t>(row + k, 0, columns) : 0;
    const std::int64_t last = upper ? columns : std::clamp<std::int64_t>(row + k + 1, 0, columns);
    const std::size_t start = index * static_cast<std::size_t>(columns) * width;
    std::memset(y.mutable_raw() + start, 0, static_cast<std::size_t>(columns) * width);
    const std::size_t offset = start + static_cast<std::size_t>(first) * width;
    if (last > first)
      std::memcpy(y.mutable_raw() + offset, x->raw() + offset, static_cast<std::size_t>(last - first) * width);
  }
  return {};
}

}  // namespace

void register_cumulative(Registry& registry) {
  const auto add = [&](const char* name, RunFunction run, std::int64_t since) {
    registry[name] = {.min_inputs = 2,
                      .max_inputs = 2,
                      .attributes = {"exclusive=i", "reverse=i"},
                      .run = run,
                      .types = kFloatTypes | kTypeI32 | kTypeI64 | type_bit(DType::kU32) | kTypeU64,
                      .native = kTypeF32 | kTypeF64 | kTypeI64 | kTypeU64,
                      .since = since};
  };
  add(":CumSum", &run_cumulative<false>, 11);
  add(":CumProd", &run_cumulative<true>, 26);
  registry[":Trilu"] = {.min_inputs = 1, .max_inputs = 2, .attributes = {"upper=i"}, .run = &run_trilu, .since = 14};
}

}  // namespace calkit::exec
