// Bits of integers: BitShift, BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot.
#include "elementwise.h"

namespace calkit::exec {
namespace {

template <class Function>
Status integers(const Call& call, Function function) {
  CALKIT_TRY(const Tensor* a, call.input(0));
  CALKIT_TRY(const Tensor* b, call.input(1));
  CALKIT_TRY(const Broadcast<2> plan, (broadcast<2>(call, {a, b})));
  return visit_integer(a->dtype(), [&]<class T>(T) {
    return integer_binary<T>(call, *a, *b, plan, [&](T x, T y, T& to) { return to = function(x, y), true; });
  });
}

Status run_and(const Call& call) {
  return integers(call, []<class T>(T a, T b) { return static_cast<T>(a & b); });
}
Status run_or(const Call& call) {
  return integers(call, []<class T>(T a, T b) { return static_cast<T>(a | b); });
}
Status run_xor(const Call& call) {
  return integers(call, []<class T>(T a, T b) { return static_cast<T>(a ^ b); });
}

// A shift by as many bits as the type has, or more, leaves nothing: of a negative number shifted to the right, -1.
// A negative shift is as many bits as its unsigned twin.
template <class T>
T shift(T a, T b, bool left) {
  constexpr auto kBits = std::uint64_t{sizeof(T) * 8};
  const auto bits = static_cast<std::uint64_t>(b);
  if (left) return bits >= kBits ? T(0) : static_cast<T>(static_cast<std::uint64_t>(a) << bits);
  if (bits >= kBits) return a < 0 ? static_cast<T>(-1) : T(0);
  return static_cast<T>(a >> bits);
}

Status run_shift(const Call& call) {
  const std::string direction = call.text_or("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") return call.fault("direction '" + direction + "'", "LEFT or RIGHT");
  return integers(call, [left = direction == "LEFT"]<class T>(T a, T b) { return shift(a, b, left); });
}

Status run_not(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(Tensor y, call.out(0, x->dtype(), x->shape()));
  for (std::size_t i = 0; i < x->bytes(); ++i) y.mutable_raw()[i] = ~x->raw()[i];
  return {};
}

}  // namespace

void register_integer_ops(Registry& registry) {
  const auto add = [&](const char* name, std::size_t inputs, RunFunction run) {
    registry[name] = {.min_inputs = inputs,
                      .max_inputs = inputs,
                      .run = run,
                      .types = kIntegers,
                      .native = kIntegers,
                      .same = kEach,
                      .since = 18};
  };
  add(":BitwiseAnd", 2, &run_and);
  add(":BitwiseOr", 2, &run_or);
  add(":BitwiseXor", 2, &run_xor);
  add(":BitwiseNot", 1, &run_not);
  registry[":BitShift"] = {.min_inputs = 2,
                           .max_inputs = 2,
                           .attributes = {"direction=s"},
                           .run = &run_shift,
                           .types = kIntegers,
                           .native = kIntegers,
                           .same = kEach,
                           .since = 11};
}

}  // namespace calkit::exec
