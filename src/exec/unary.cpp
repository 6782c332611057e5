// Functions of one operand without attributes.
#include <cmath>

#include "elementwise.h"

namespace calkit::exec {
namespace {

constexpr Types kSignedNumbers = kFloatTypes | kTypeI8 | type_bit(DType::kI16) | kTypeI32 | kTypeI64;

Status run_neg(const Call& call) {
  return map_numbers(call, []<class T>(T x) -> T {
    if constexpr (std::is_floating_point_v<T>)
      return -x;
    else
      return static_cast<T>(Unsigned<T>(0) - static_cast<Unsigned<T>>(x));
  });
}
Status run_abs(const Call& call) {
  return map_numbers(call, []<class T>(T x) -> T {
    if constexpr (std::is_floating_point_v<T>)
      return std::fabs(x);
    else
      return x < 0 ? static_cast<T>(Unsigned<T>(0) - static_cast<Unsigned<T>>(x)) : x;
  });
}
Status run_sign(const Call& call) {
  return map_numbers(call, []<class T>(T x) -> T { return x > 0 ? T(1) : x < 0 ? static_cast<T>(-1) : x; });
}
Status run_relu(const Call& call) {
  return map_numbers(call, []<class T>(T x) -> T { return x < 0 ? T(0) : x; });
}

template <class Test>
Status test_floats(const Call& call, Test test) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(Tensor y, call.out(0, DType::kBool, x->shape()));
  auto to = y.mutable_data<std::uint8_t>();
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = x->dtype() == DType::kF64 ? test(x->data<double>()[i]) : test(x->data<float>()[i]);
  return {};
}
Status run_is_nan(const Call& call) {
  return test_floats(call, [](auto x) { return std::isnan(x); });
}
Status run_is_inf(const Call& call) {
  const bool up = call.node.int_or("detect_positive", 1) != 0, down = call.node.int_or("detect_negative", 1) != 0;
  return test_floats(call, [=](auto x) { return std::isinf(x) && (x > 0 ? up : down); });
}

#define CALKIT_UNARY(name, expression)                          \
  Status name(const Call& call) {                               \
    return map_floats(call, [](auto x) { return expression; }); \
  }
CALKIT_UNARY(run_sigmoid, 1 / (1 + std::exp(-x)))
CALKIT_UNARY(run_cos, std::cos(x))
CALKIT_UNARY(run_sin, std::sin(x))
CALKIT_UNARY(run_tan, std::tan(x))
CALKIT_UNARY(run_acos, std::acos(x))
CALKIT_UNARY(run_asin, std::asin(x))
CALKIT_UNARY(run_atan, std::atan(x))
CALKIT_UNARY(run_cosh, std::cosh(x))
CALKIT_UNARY(run_sinh, std::sinh(x))
CALKIT_UNARY(run_tanh, std::tanh(x))
CALKIT_UNARY(run_acosh, std::acosh(x))
CALKIT_UNARY(run_asinh, std::asinh(x))
CALKIT_UNARY(run_atanh, std::atanh(x))
CALKIT_UNARY(run_sqrt, std::sqrt(x))
CALKIT_UNARY(run_exp, std::exp(x))
CALKIT_UNARY(run_log, std::log(x))
CALKIT_UNARY(run_erf, std::erf(x))
CALKIT_UNARY(run_reciprocal, 1 / x)
CALKIT_UNARY(run_ceil, std::ceil(x))
CALKIT_UNARY(run_floor, std::floor(x))
CALKIT_UNARY(run_round, std::nearbyint(x))
CALKIT_UNARY(run_softsign, x / (1 + std::fabs(x)))
CALKIT_UNARY(run_softplus, (x > 0 ? x : decltype(x)(0)) + std::log1p(std::exp(-std::fabs(x))))
CALKIT_UNARY(run_mish, x* std::tanh((x > 0 ? x : decltype(x)(0)) + std::log1p(std::exp(-std::fabs(x)))))
#undef CALKIT_UNARY

}  // namespace

void register_unary(Registry& registry) {
  const auto add = [&](const char* name, RunFunction run, std::int64_t since = kOldestOpset) {
    registry[name] = {
        .min_inputs = 1, .max_inputs = 1, .run = run, .types = kFloatTypes, .native = kFloatNative, .since = since};
  };
  add(":Sigmoid", &run_sigmoid);
  add(":Cos", &run_cos);
  add(":Sin", &run_sin);
  add(":Tan", &run_tan);
  add(":Acos", &run_acos);
  add(":Asin", &run_asin);
  add(":Atan", &run_atan);
  add(":Cosh", &run_cosh, 9);
  add(":Sinh", &run_sinh, 9);
  add(":Tanh", &run_tanh);
  add(":Acosh", &run_acosh, 9);
  add(":Asinh", &run_asinh, 9);
  add(":Atanh", &run_atanh, 9);
  add(":Sqrt", &run_sqrt);
  add(":Exp", &run_exp);
  add(":Log", &run_log);
  add(":Erf", &run_erf, 9);
  add(":Reciprocal", &run_reciprocal);
  add(":Ceil", &run_ceil);
  add(":Floor", &run_floor);
  add(":Round", &run_round, 11);
  add(":Softsign", &run_softsign);
  add(":Softplus", &run_softplus);
  add(":Mish", &run_mish, 18);
  const auto number = [&](const char* name, RunFunction run, Types types, std::int64_t since) {
    registry[name] = {.min_inputs = 1,
                      .max_inputs = 1,
                      .run = run,
                      .types = types,
                      .native = kFloatNative | kTypeI64 | kTypeU64,
                      .since = since};
  };
  number(":Neg", &run_neg, kSignedNumbers, kOldestOpset);
  number(":Abs", &run_abs, kNumbers, kOldestOpset);
  number(":Sign", &run_sign, kNumbers, 9);
  number(":Relu", &run_relu, kSignedNumbers, kOldestOpset);
  registry[":IsNaN"] = {.min_inputs = 1,
                        .max_inputs = 1,
                        .run = &run_is_nan,
                        .types = kFloatTypes,
                        .native = kTypeF32 | kTypeF64,
                        .since = 9};
  registry[":IsInf"] = {.min_inputs = 1,
                        .max_inputs = 1,
                        .attributes = {"detect_positive=i", "detect_negative=i"},
                        .run = &run_is_inf,
                        .types = kFloatTypes,
                        .native = kTypeF32 | kTypeF64,
                        .since = 10};
}

}  // namespace calkit::exec
