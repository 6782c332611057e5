// Arithmetic of one and two operands. BF16 is widened, computed in F32 and rounded once; integers wrap.
#include <cmath>
#include <type_traits>

#include "broadcast.h"
#include "wide.h"

namespace calkit::exec {
namespace {

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

template <class FloatFunction, class IntegerFunction>
Status binary(const Call& call, FloatFunction on_float, IntegerFunction on_integer) {
  CALKIT_TRY(const Tensor* a, call.input(0));
  CALKIT_TRY(const Tensor* b, call.input(1));
  if (a->dtype() != b->dtype())
    return call.fault(1, tensor_text(*b), std::string(dtype_name(a->dtype())) + ", as the first operand");
  CALKIT_TRY(const Broadcast<2> plan, (broadcast<2>(call, {a, b})));
  switch (a->dtype()) {
    case DType::kF32:
      return float_binary<float>(call, *a, *b, plan, on_float);
    case DType::kBF16:
      return float_binary<BF16>(call, *a, *b, plan, on_float);
    case DType::kI32:
      return integer_binary<std::int32_t>(call, *a, *b, plan, on_integer);
    case DType::kI64:
      return integer_binary<std::int64_t>(call, *a, *b, plan, on_integer);
    default:
      return call.fault(0, tensor_text(*a), "f32, bf16, i32 or i64");
  }
}

// Wrapping arithmetic: through the unsigned type, because signed overflow has no result.
template <class T>
using Unsigned = std::make_unsigned_t<T>;

Status run_add(const Call& call) {
  return binary(
      call, [](float a, float b) { return a + b; },
      []<class T>(T a, T b, T& y) { return y = static_cast<T>(Unsigned<T>(a) + Unsigned<T>(b)), true; });
}
Status run_sub(const Call& call) {
  return binary(
      call, [](float a, float b) { return a - b; },
      []<class T>(T a, T b, T& y) { return y = static_cast<T>(Unsigned<T>(a) - Unsigned<T>(b)), true; });
}
Status run_mul(const Call& call) {
  return binary(
      call, [](float a, float b) { return a * b; },
      []<class T>(T a, T b, T& y) { return y = static_cast<T>(Unsigned<T>(a) * Unsigned<T>(b)), true; });
}
Status run_div(const Call& call) {
  return binary(
      call, [](float a, float b) { return a / b; },
      []<class T>(T a, T b, T& y) {
        if (b == 0 || (b == -1 && a == std::numeric_limits<T>::min())) return y = 0, false;
        return y = a / b, true;
      });
}

template <class Function>
Status unary(const Call& call, Function function) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  if (x->dtype() != DType::kF32 && x->dtype() != DType::kBF16) return call.fault(0, tensor_text(*x), "f32 or bf16");
  CALKIT_TRY(Tensor y, call.out(0, x->dtype(), x->shape()));
  const auto apply = [&]<class T>(const T* from, T* to) {
    const std::size_t count = x->elements();
    for (std::size_t i = 0; i < count; ++i) put(to[i], function(wide(from[i])));
  };
  if (x->dtype() == DType::kF32)
    apply(x->data<float>().data(), y.mutable_data<float>().data());
  else
    apply(x->data<BF16>().data(), y.mutable_data<BF16>().data());
  return {};
}

Status run_pow(const Call& call) {
  CALKIT_TRY(const Tensor* a, call.input(0));
  if (a->dtype() != DType::kF32 && a->dtype() != DType::kBF16) return call.fault(0, tensor_text(*a), "f32 or bf16");
  return binary(
      call, [](float x, float y) { return y == 2.0f ? x * x : std::pow(x, y); },
      []<class T>(T, T, T& y) { return y = 0, false; });
}
Status run_sigmoid(const Call& call) {
  return unary(call, [](float x) { return 1.0f / (1.0f + std::exp(-x)); });
}
Status run_cos(const Call& call) {
  return unary(call, [](float x) { return std::cos(x); });
}
Status run_sin(const Call& call) {
  return unary(call, [](float x) { return std::sin(x); });
}
Status run_sqrt(const Call& call) {
  return unary(call, [](float x) { return std::sqrt(x); });
}
Status run_exp(const Call& call) {
  return unary(call, [](float x) { return std::exp(x); });
}
Status run_neg(const Call& call) {
  return unary(call, [](float x) { return -x; });
}

}  // namespace

void register_elementwise(Registry& registry) {
  const auto add = [&](const char* name, std::size_t inputs, RunFunction run) {
    registry[name] = {.min_inputs = inputs, .max_inputs = inputs, .run = run};
  };
  add(":Add", 2, &run_add);
  add(":Sub", 2, &run_sub);
  add(":Mul", 2, &run_mul);
  add(":Div", 2, &run_div);
  add(":Pow", 2, &run_pow);
  add(":Sigmoid", 1, &run_sigmoid);
  add(":Cos", 1, &run_cos);
  add(":Sin", 1, &run_sin);
  add(":Sqrt", 1, &run_sqrt);
  add(":Exp", 1, &run_exp);
  add(":Neg", 1, &run_neg);
}

}  // namespace calkit::exec
