// Comparisons, logic and Where. A bool is one byte, 0 or 1.
#include <cstring>

#include "broadcast.h"

namespace calkit::exec {
namespace {

inline float plain(BF16 v) {
  return to_float(v);
}
template <class T>
T plain(T v) {
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
  if (a->dtype() != b->dtype())
    return call.fault(1, tensor_text(*b), std::string(dtype_name(a->dtype())) + ", as the first operand");
  switch (a->dtype()) {
    case DType::kF32:
      return compare_as<float>(call, *a, *b, function);
    case DType::kBF16:
      return compare_as<BF16>(call, *a, *b, function);
    case DType::kI32:
      return compare_as<std::int32_t>(call, *a, *b, function);
    case DType::kI64:
      return compare_as<std::int64_t>(call, *a, *b, function);
    case DType::kBool:
      return compare_as<std::uint8_t>(call, *a, *b, function);
    default:
      return call.fault(0, tensor_text(*a), "f32, bf16, i32, i64 or bool");
  }
}

template <class Function>
Status logic(const Call& call, Function function) {
  for (std::size_t i = 0; i < 2; ++i) {
    CALKIT_TRY(const Tensor* operand, call.input(i));
    if (operand->dtype() != DType::kBool) return call.fault(i, tensor_text(*operand), "bool");
  }
  return compare_as<std::uint8_t>(call, *call.inputs[0], *call.inputs[1], function);
}

Status run_not(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  if (x->dtype() != DType::kBool) return call.fault(0, tensor_text(*x), "bool");
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
  if (a->dtype() != b->dtype())
    return call.fault(2, tensor_text(*b), std::string(dtype_name(a->dtype())) + ", as the second operand");
  CALKIT_TRY(const Broadcast<3> plan, (broadcast<3>(call, {condition, a, b})));
  CALKIT_TRY(Tensor y, call.out(0, a->dtype(), plan.shape));
  switch (dtype_bytes(a->dtype())) {
    case 1:
      choose<std::uint8_t>(plan, *condition, *a, *b, y);
      break;
    case 2:
      choose<std::uint16_t>(plan, *condition, *a, *b, y);
      break;
    case 4:
      choose<std::uint32_t>(plan, *condition, *a, *b, y);
      break;
    default:
      choose<std::uint64_t>(plan, *condition, *a, *b, y);
      break;
  }
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

}  // namespace

void register_compare(Registry& registry) {
  const auto add = [&](const char* name, std::size_t inputs, RunFunction run) {
    registry[name] = {.min_inputs = inputs, .max_inputs = inputs, .run = run};
  };
  add(":Less", 2, &run_less);
  add(":LessOrEqual", 2, &run_less_equal);
  add(":Greater", 2, &run_greater);
  add(":GreaterOrEqual", 2, &run_greater_equal);
  add(":Equal", 2, &run_equal);
  add(":And", 2, &run_and);
  add(":Or", 2, &run_or);
  add(":Not", 1, &run_not);
  add(":Where", 3, &run_where);
}

}  // namespace calkit::exec
