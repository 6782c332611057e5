// Max, Min, Sum and Mean of any number of operands.
#include <cmath>
#include <cstring>

#include "elementwise.h"

namespace calkit::exec {
namespace {

// y = function(y, operand), the operand broadcast.
template <class T, class Function>
Status fold_in(const Call& call, Tensor& y, const Tensor& operand, Function function) {
  CALKIT_TRY(const Broadcast<2> plan, (broadcast<2>(call, {&y, &operand})));
  const T* from = operand.data<T>().data();
  T* to = y.mutable_data<T>().data();
  for_each_run(plan, [&](const auto& offsets, std::size_t count, const auto& steps) {
    for (std::size_t i = 0; i < count; ++i, ++to) *to = function(*to, from[offsets[1] + i * steps[1]]);
  });
  return {};
}

// The shape that all operands broadcast to.
Result<Shape> common_shape(const Call& call) {
  Shape shape;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    CALKIT_TRY(const Tensor* operand, call.input(i));
    const Tensor so_far = Tensor::borrow(operand->dtype(), shape, nullptr, nullptr);
    CALKIT_TRY(const Broadcast<2> plan, (broadcast<2>(call, {&so_far, operand})));
    shape = plan.shape;
  }
  return shape;
}

template <class T, class Function>
Status variadic(const Call& call, const Function& function, bool mean) {
  CALKIT_TRY(const Shape shape, common_shape(call));
  CALKIT_TRY(Tensor y, call.out(0, call.inputs[0]->dtype(), shape));
  CALKIT_CHECK_OK(fold_in<T>(call, y, *call.inputs[0], [](T, T b) { return b; }));
  for (std::size_t i = 1; i < call.inputs.size(); ++i) CALKIT_CHECK_OK(fold_in<T>(call, y, *call.inputs[i], function));
  if constexpr (std::is_floating_point_v<T>)
    if (mean)
      for (T& value : y.mutable_data<T>()) value /= static_cast<T>(call.inputs.size());
  return {};
}

template <class Function>
Status by_type(const Call& call, const Function& function, bool mean = false) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  switch (x->dtype()) {
    case DType::kF32:
      return variadic<float>(call, function, mean);
    case DType::kF64:
      return variadic<double>(call, function, mean);
    case DType::kU64:
      return variadic<std::uint64_t>(call, function, mean);
    default:
      return variadic<std::int64_t>(call, function, mean);
  }
}

// NaN wins.
Status run_max(const Call& call) {
  return by_type(call, [](auto a, auto b) { return a > b || a != a ? a : b; });
}
Status run_min(const Call& call) {
  return by_type(call, [](auto a, auto b) { return a < b || a != a ? a : b; });
}
Status run_sum(const Call& call) {
  return by_type(call, [](auto a, auto b) { return a + b; });
}
Status run_mean(const Call& call) {
  return by_type(call, [](auto a, auto b) { return a + b; }, true);
}

}  // namespace

void register_variadic(Registry& registry) {
  const auto add = [&](const char* name, RunFunction run, Types types) {
    registry[name] = {.min_inputs = 1,
                      .max_inputs = 1024,
                      .run = run,
                      .types = types,
                      .native = kTypeF32 | kTypeF64 | kTypeI64 | kTypeU64,
                      .same = kEach,
                      .since = 8};
  };
  add(":Max", &run_max, kNumbers);
  add(":Min", &run_min, kNumbers);
  add(":Sum", &run_sum, kFloatTypes);
  add(":Mean", &run_mean, kFloatTypes);
}

}  // namespace calkit::exec
