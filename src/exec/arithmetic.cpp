// Add, Sub, Mul, Div, Pow, Mod and PRelu.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "elementwise.h"

namespace calkit::exec {
namespace {

Status run_add(const Call& call) {
  return binary(
      call, [](auto a, auto b) { return a + b; },
      []<class T>(T a, T b, T& y) { return y = static_cast<T>(Unsigned<T>(a) + Unsigned<T>(b)), true; });
}
Status run_sub(const Call& call) {
  return binary(
      call, [](auto a, auto b) { return a - b; },
      []<class T>(T a, T b, T& y) { return y = static_cast<T>(Unsigned<T>(a) - Unsigned<T>(b)), true; });
}
Status run_mul(const Call& call) {
  return binary(
      call, [](auto a, auto b) { return a * b; },
      []<class T>(T a, T b, T& y) { return y = static_cast<T>(Unsigned<T>(a) * Unsigned<T>(b)), true; });
}

template <class T>
bool has_quotient(T a, T b) {
  if constexpr (std::is_signed_v<T>) return b != 0 && !(b == -1 && a == std::numeric_limits<T>::min());
  return b != 0;
}

Status run_div(const Call& call) {
  return binary(
      call, [](auto a, auto b) { return a / b; },
      []<class T>(T a, T b, T& y) {
        if (!has_quotient(a, b)) return y = 0, false;
        return y = a / b, true;
      });
}

// Of the divisor's sign; a zero has it, too. An infinite divisor leaves what is on its side, and is reached from the
// other.
template <class T>
T floor_mod(T a, T b) {
  T rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(rest, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

// The sign is the divisor's, or with fmod the dividend's.
Status run_mod(const Call& call) {
  const bool fmod = call.node.int_or("fmod", 0) != 0;
  return binary(
      call, [fmod](auto a, auto b) { return fmod ? std::fmod(a, b) : floor_mod(a, b); },
      [fmod]<class T>(T a, T b, T& y) {
        if (b == 0) return y = 0, false;
        if (!has_quotient(a, b)) return y = 0, true;
        y = a % b;
        if (!fmod && y != 0 && (y < 0) != (b < 0)) y += b;
        return true;
      });
}

template <class T>
T integer_power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>)
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  Unsigned<T> power = static_cast<Unsigned<T>>(base), out = 1;
  for (auto rest = static_cast<Unsigned<T>>(exponent); rest != 0; rest >>= 1, power *= power)
    if ((rest & 1) != 0) out *= power;
  return static_cast<T>(out);
}

// The exponent may be of another type than the base: it is converted where the base is a float, the base where not.
Status run_pow(const Call& call) {
  const auto on_float = [](auto x, auto y) { return y == 2 ? x * x : std::pow(x, y); };
  const auto on_integer = []<class T>(T a, T b, T& y) { return y = integer_power(a, b), true; };
  CALKIT_TRY(const Tensor* a, call.input(0));
  CALKIT_TRY(const Tensor* b, call.input(1));
  if (a->dtype() == b->dtype()) return binary(call, on_float, on_integer);
  const bool to_float = !has_type(kFloatTypes, a->dtype()) && has_type(kFloatTypes, b->dtype());
  const DType computed = has_type(kFloatTypes, a->dtype()) ? a->dtype() : to_float ? DType::kF64 : a->dtype();
  CALKIT_TRY(const Tensor base, convert(*a, computed), node_label(call.node));
  CALKIT_TRY(const Tensor exponent, convert(*b, computed), node_label(call.node));
  const Tensor* inputs[] = {&base, &exponent};
  if (!to_float) return binary(Call{call.node, inputs, call.out, call.opset}, on_float, on_integer);
  std::optional<Tensor> target, wide;
  const OutputAllocator out = [&](std::size_t index, DType dtype, const Shape& shape) -> Result<Tensor> {
    CALKIT_TRY(target, call.out(index, a->dtype(), shape));
    CALKIT_TRY(wide, Tensor::zeros(dtype, shape));
    return *wide;
  };
  CALKIT_CHECK_OK(binary(Call{call.node, inputs, out, call.opset}, on_float, on_integer));
  CALKIT_TRY(const Tensor narrowed, convert(*wide, a->dtype()), node_label(call.node));
  if (narrowed.bytes() > 0) std::memcpy(target->mutable_raw(), narrowed.raw(), narrowed.bytes());
  return {};
}

Status run_prelu(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(const Tensor* slope, call.input(1));
  CALKIT_TRY(const Broadcast<2> plan, (broadcast<2>(call, {x, slope})));
  if (plan.shape != x->shape()) return call.fault(1, tensor_text(*slope), "a shape that fits " + tensor_text(*x));
  return binary(
      call, [](auto a, auto b) { return a < 0 ? a * b : a; },
      []<class T>(T a, T b, T& y) { return y = a < 0 ? static_cast<T>(Unsigned<T>(a) * Unsigned<T>(b)) : a, true; });
}

}  // namespace

void register_arithmetic(Registry& registry) {
  const auto add = [&](const char* name, RunFunction run) -> Operator& {
    return registry[name] = {
               .min_inputs = 2, .max_inputs = 2, .run = run, .types = kNumbers, .native = kBinaryNative, .same = kEach};
  };
  add(":Add", &run_add);
  add(":Sub", &run_sub);
  add(":Mul", &run_mul);
  add(":Div", &run_div);
  add(":Mod", &run_mod) = {.min_inputs = 2,
                           .max_inputs = 2,
                           .attributes = {"fmod=i"},
                           .run = &run_mod,
                           .types = kNumbers,
                           .native = kBinaryNative,
                           .same = kEach,
                           .since = 10};
  Operator& power = add(":Pow", &run_pow);
  power.types = kFloatTypes | kTypeI32 | kTypeI64;
  power.same = 0;
  Operator& prelu = add(":PRelu", &run_prelu);
  prelu.types = kFloatTypes | kTypeI32 | kTypeI64 | kTypeU64 | type_bit(DType::kU32);
}

}  // namespace calkit::exec
