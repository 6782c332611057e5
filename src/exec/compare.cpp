// Comparisons, logic and Where. A bool is one byte, 0 or 1.
#include <cstring>

#include "broadcast.h"

namespace calkit::exec {
namespace {

constexpr Types kBinary = kLinearTypes | kTypeF64 | kTypeI32 | kTypeI64 | kTypeU64 | kTypeBool;

template <class T>
auto plain(T v) {
  if constexpr (std::is_same_v<T, BF16>)
    return to_float(v);
  else
    return v;
}

template <class T, class Function>
Status compare_as(const Call& call, const Tensor& a, const Tensor& b, Function function) {
  CALKIT_TRY(const Broadcast<2> plan, (broadcast<2>(call, {&a, &b})));
  CALKIT_TRY(Tensor y, call.out(0, DType::kBool, plan.shape));
  const T *left = a.data<T>().data(), *right = b.data<T>().data();
  std::uint8_t* to = y.mutable_data<std::uint8_t>().data();
  for_each_run(plan, [&](const auto& offsets, std::size_t count, const auto& steps) {
    for (std::size_t i = 0; i < count; ++i)
      *to++ = function(plain(left[offsets[0] + i * steps[0]]), plain(right[offsets[1] + i * steps[1]])) ? 1 : 0;
  });
  return {};
}

template <class Function>
Status compare(const Call& call, Function function) {
  CALKIT_TRY(const Tensor* a, call.input(0));
  CALKIT_TRY(const Tensor* b, call.input(1));
  switch (a->dtype()) {
    case DType::kF32:
      return compare_as<float>(call, *a, *b, function);
    case DType::kBF16:
      return compare_as<BF16>(call, *a, *b, function);
    case DType::kF64:
      return compare_as<double>(call, *a, *b, function);
    case DType::kI32:
      return compare_as<std::int32_t>(call, *a, *b, function);
    case DType::kU64:
      return compare_as<std::uint64_t>(call, *a, *b, function);
    case DType::kBool:
      return compare_as<std::uint8_t>(call, *a, *b, function);
    default:
      return compare_as<std::int64_t>(call, *a, *b, function);
  }
}

template <class Function>
Status logic(const Call& call, Function function) {
  CALKIT_TRY(const Tensor* a, call.input(0));
  CALKIT_TRY(const Tensor* b, call.input(1));
  return compare_as<std::uint8_t>(call, *a, *b, function);
}

Status run_not(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(Tensor y, call.out(0, DType::kBool, x->shape()));
  const auto from = x->data<std::uint8_t>();
  auto to = y.mutable_data<std::uint8_t>();
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] == 0 ? 1 : 0;
  return {};
}

template <class T>
void choose(const Broadcast<3>& plan, const Tensor& condition, const Tensor& a, const Tensor& b, Tensor& y) {
  const std::uint8_t* when = condition.data<std::uint8_t>().data();
  const T *left = reinterpret_cast<const T*>(a.raw()), *right = reinterpret_cast<const T*>(b.raw());
  T* to = reinterpret_cast<T*>(y.mutable_raw());
  for_each_run(plan, [&](const auto& offsets, std::size_t count, const auto& steps) {
    for (std::size_t i = 0; i < count; ++i)
      *to++ = when[offsets[0] + i * steps[0]] != 0 ? left[offsets[1] + i * steps[1]] : right[offsets[2] + i * steps[2]];
  });
}

Status run_where(const Call& call) {
  CALKIT_TRY(const Tensor* condition, call.input(0));
  CALKIT_TRY(const Tensor* a, call.input(1));
  CALKIT_TRY(const Tensor* b, call.input(2));
  if (condition->dtype() != DType::kBool) return call.fault(0, tensor_text(*condition), "bool");
  CALKIT_TRY(const Broadcast<3> plan, (broadcast<3>(call, {condition, a, b})));
  CALKIT_TRY(Tensor y, call.out(0, a->dtype(), plan.shape));
  visit_width(a->dtype(), [&]<class T>(T) { choose<T>(plan, *condition, *a, *b, y); });
  return {};
}

Status run_less(const Call& call) {
  return compare(call, [](auto a, auto b) { return a < b; });
}
Status run_less_equal(const Call& call) {
  return compare(call, [](auto a, auto b) { return a <= b; });
}
Status run_greater(const Call& call) {
  return compare(call, [](auto a, auto b) { return a > b; });
}
Status run_greater_equal(const Call& call) {
  return compare(call, [](auto a, auto b) { return a >= b; });
}
Status run_equal(const Call& call) {
  return compare(call, [](auto a, auto b) { return a == b; });
}
Status run_and(const Call& call) {
  return logic(call, [](auto a, auto b) { return a != 0 && b != 0; });
}
Status run_or(const Call& call) {
  return logic(call, [](auto a, auto b) { return a != 0 || b != 0; });
}

Status run_xor(const Call& call) {
  return logic(call, [](auto a, auto b) { return (a != 0) != (b != 0); });
}

}  // namespace

void register_compare(Registry& registry) {
  const auto add = [&](const char* name, std::size_t inputs, RunFunction run, Types types, std::int64_t since) {
    registry[name] = {.min_inputs = inputs,
                      .max_inputs = inputs,
                      .run = run,
                      .types = types,
                      .native = kBinary,
                      .same = kEach,
                      .since = since};
  };
  add(":Less", 2, &run_less, kNumbers, kOldestOpset);
  add(":LessOrEqual", 2, &run_less_equal, kNumbers, 12);
  add(":Greater", 2, &run_greater, kNumbers, kOldestOpset);
  add(":GreaterOrEqual", 2, &run_greater_equal, kNumbers, 12);
  add(":Equal", 2, &run_equal, kAllTypes, kOldestOpset);
  add(":And", 2, &run_and, kTypeBool, kOldestOpset);
  add(":Or", 2, &run_or, kTypeBool, kOldestOpset);
  add(":Xor", 2, &run_xor, kTypeBool, kOldestOpset);
  add(":Not", 1, &run_not, kTypeBool, kOldestOpset);
  registry[":Where"] = {.min_inputs = 3, .max_inputs = 3, .run = &run_where, .same = 0b110, .main = 1, .since = 9};
}

}  // namespace calkit::exec
