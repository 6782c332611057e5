#pragma once
/// Loops over one, two or many operands. BF16 is widened, computed in F32 and rounded once; integers wrap.
#include <type_traits>

#include "broadcast.h"
#include "wide.h"

namespace calkit::exec {

// Wrapping arithmetic goes through the unsigned type, because signed overflow has no result.
template <class T>
using Unsigned = std::make_unsigned_t<T>;

template <class T, class Function>
Status float_binary(const Call& call, const Tensor& a, const Tensor& b, const Broadcast<2>& plan, Function function) {
  CALKIT_TRY(Tensor y, call.out(0, a.dtype(), plan.shape));
  const T *left = a.data<T>().data(), *right = b.data<T>().data();
  T* to = y.mutable_data<T>().data();
  for_each_run(plan, [&](const auto& offsets, std::size_t count, const auto& steps) {
    const T *p = left + offsets[0], *q = right + offsets[1];
    if (steps[0] == 1 && steps[1] == 1)
      for (std::size_t i = 0; i < count; ++i) put(to[i], function(wide(p[i]), wide(q[i])));
    else
      for (std::size_t i = 0; i < count; ++i) put(to[i], function(wide(p[i * steps[0]]), wide(q[i * steps[1]])));
    to += count;
  });
  return {};
}

/// @param function bool(T a, T b, T& y); false where the operation has no result.
template <class T, class Function>
Status integer_binary(const Call& call, const Tensor& a, const Tensor& b, const Broadcast<2>& plan, Function function) {
  CALKIT_TRY(Tensor y, call.out(0, a.dtype(), plan.shape));
  const T *left = a.data<T>().data(), *right = b.data<T>().data();
  T* to = y.mutable_data<T>().data();
  bool defined = true;
  for_each_run(plan, [&](const auto& offsets, std::size_t count, const auto& steps) {
    for (std::size_t i = 0; i < count; ++i)
      defined = function(left[offsets[0] + i * steps[0]], right[offsets[1] + i * steps[1]], *to++) && defined;
  });
  if (!defined)
    return call.fault(1, "a zero divisor, or the most negative number over -1", "a division that has a result");
  return {};
}

/// Types that unary() and float functions compute in.
constexpr Types kFloatNative = kLinearTypes | kTypeF64;
constexpr Types kBinaryNative = kFloatNative | kTypeI32 | kTypeI64 | kTypeU64;

template <class Float, class Integer>
Status binary(const Call& call, Float on_float, Integer on_integer) {
  CALKIT_TRY(const Tensor* a, call.input(0));
  CALKIT_TRY(const Tensor* b, call.input(1));
  CALKIT_TRY(const Broadcast<2> plan, (broadcast<2>(call, {a, b})));
  switch (a->dtype()) {
    case DType::kF32:
      return float_binary<float>(call, *a, *b, plan, on_float);
    case DType::kBF16:
      return float_binary<BF16>(call, *a, *b, plan, on_float);
    case DType::kF64:
      return float_binary<double>(call, *a, *b, plan, on_float);
    case DType::kI32:
      return integer_binary<std::int32_t>(call, *a, *b, plan, on_integer);
    case DType::kU64:
      return integer_binary<std::uint64_t>(call, *a, *b, plan, on_integer);
    default:
      return integer_binary<std::int64_t>(call, *a, *b, plan, on_integer);
  }
}

/// y = function(x) of a float operand.
template <class Function>
Status map_floats(const Call& call, Function function) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(Tensor y, call.out(0, x->dtype(), x->shape()));
  const auto apply = [&]<class T>(T) {
    const T* from = x->data<T>().data();
    T* to = y.mutable_data<T>().data();
    const std::size_t count = x->elements();
    for (std::size_t i = 0; i < count; ++i) put(to[i], function(wide(from[i])));
  };
  if (x->dtype() == DType::kF32) apply(float{});
  if (x->dtype() == DType::kBF16) apply(BF16{});
  if (x->dtype() == DType::kF64) apply(double{});
  return {};
}

/// y = function(x) of a number; integers as int64 or uint64.
template <class Function>
Status map_numbers(const Call& call, Function function) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  if (has_type(kFloatTypes, x->dtype())) return map_floats(call, function);
  CALKIT_TRY(Tensor y, call.out(0, x->dtype(), x->shape()));
  visit_integer(x->dtype(), [&]<class T>(T) {
    const auto from = x->data<T>();
    auto to = y.mutable_data<T>();
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = function(from[i]);
  });
  return {};
}

}  // namespace calkit::exec
