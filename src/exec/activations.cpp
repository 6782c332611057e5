// Functions of one operand with attributes: LeakyRelu, Elu, Gelu and the like; Clip.
#include <cmath>
#include <numbers>

#include "elementwise.h"

namespace calkit::exec {
namespace {

Status run_leaky_relu(const Call& call) {
  return map_floats(call, [a = call.node.float_or("alpha", 0.01f)]<class T>(T x) { return x < 0 ? T(a) * x : x; });
}
Status run_elu(const Call& call) {
  return map_floats(call,
                    [a = call.node.float_or("alpha", 1)]<class T>(T x) { return x < 0 ? T(a) * std::expm1(x) : x; });
}
Status run_selu(const Call& call) {
  const float alpha = call.node.float_or("alpha", 1.67326319217681884765625f);
  const float gamma = call.node.float_or("gamma", 1.05070102214813232421875f);
  return map_floats(call, [=]<class T>(T x) { return T(gamma) * (x <= 0 ? T(alpha) * std::expm1(x) : x); });
}
Status run_celu(const Call& call) {
  return map_floats(
      call, [a = call.node.float_or("alpha", 1)]<class T>(T x) { return x < 0 ? T(a) * std::expm1(x / T(a)) : x; });
}
Status run_hard_sigmoid(const Call& call) {
  const float alpha = call.node.float_or("alpha", 0.2f), beta = call.node.float_or("beta", 0.5f);
  return map_floats(call, [=]<class T>(T x) { return std::max(T(0), std::min(T(1), T(alpha) * x + T(beta))); });
}
Status run_hard_swish(const Call& call) {
  return map_floats(call, []<class T>(T x) { return x * std::max(T(0), std::min(T(1), x * (T(1) / T(6)) + T(0.5))); });
}
Status run_thresholded_relu(const Call& call) {
  return map_floats(call, [a = call.node.float_or("alpha", 1)]<class T>(T x) { return x > T(a) ? x : T(0); });
}
Status run_shrink(const Call& call) {
  const float bias = call.node.float_or("bias", 0), edge = call.node.float_or("lambd", 0.5f);
  return map_floats(call, [=]<class T>(T x) { return x < -T(edge) ? x + T(bias) : x > T(edge) ? x - T(bias) : T(0); });
}
Status run_swish(const Call& call) {
  return map_floats(call, [a = call.node.float_or("alpha", 1)]<class T>(T x) { return x / (1 + std::exp(-T(a) * x)); });
}
Status run_gelu(const Call& call) {
  const std::string how = call.text_or("approximate", "none");
  if (how == "none")
    return map_floats(call, []<class T>(T x) { return T(0.5) * x * (1 + std::erf(x / std::numbers::sqrt2_v<T>)); });
  if (how != "tanh") return call.fault("approximate '" + how + "'", "'none' or 'tanh'");
  return map_floats(call, []<class T>(T x) {
    const T factor = std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
    return T(0.5) * x * (1 + std::tanh(factor * (x + T(0.044715) * x * x * x)));
  });
}

// Bounds are operands from opset 11 on, attributes before; a bound that is left out does not bound.
template <class T>
Status clip(const Call& call, const Tensor& x) {
  std::optional<T> bounds[2];
  constexpr const char* kNames[2] = {"min", "max"};
  for (std::size_t i = 0; i < 2; ++i) {
    if (const Tensor* bound = call.optional(1 + i)) {
      if (bound->elements() != 1) return call.fault(1 + i, tensor_text(*bound), "one number");
      bounds[i] = bound->data<T>()[0];
    } else if (const auto* attribute = call.node.attribute(kNames[i])) {
      bounds[i] = static_cast<T>(attribute->f);
    }
  }
  CALKIT_TRY(Tensor y, call.out(0, x.dtype(), x.shape()));
  const auto from = x.data<T>();
  auto to = y.mutable_data<T>();
  for (std::size_t i = 0; i < from.size(); ++i) {
    T value = from[i];
    if (bounds[0] && value < *bounds[0]) value = *bounds[0];
    if (bounds[1] && value > *bounds[1]) value = *bounds[1];
    to[i] = value;
  }
  return {};
}

Status run_clip(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  switch (x->dtype()) {
    case DType::kF32:
      return clip<float>(call, *x);
    case DType::kF64:
      return clip<double>(call, *x);
    case DType::kU64:
      return clip<std::uint64_t>(call, *x);
    default:
      return clip<std::int64_t>(call, *x);
  }
}

}  // namespace

void register_activations(Registry& registry) {
  const auto add = [&](const char* name, std::vector<std::string_view> attributes, RunFunction run,
                       std::int64_t since = kOldestOpset) {
    registry[name] = {.min_inputs = 1,
                      .max_inputs = 1,
                      .attributes = std::move(attributes),
                      .run = run,
                      .types = kFloatTypes,
                      .native = kFloatNative,
                      .since = since};
  };
  add(":LeakyRelu", {"alpha=f"}, &run_leaky_relu);
  add(":Elu", {"alpha=f"}, &run_elu);
  add(":Selu", {"alpha=f", "gamma=f"}, &run_selu);
  add(":Celu", {"alpha=f"}, &run_celu, 12);
  add(":HardSigmoid", {"alpha=f", "beta=f"}, &run_hard_sigmoid);
  add(":HardSwish", {}, &run_hard_swish, 14);
  add(":ThresholdedRelu", {"alpha=f"}, &run_thresholded_relu, 10);
  add(":Shrink", {"bias=f", "lambd=f"}, &run_shrink, 9);
  add(":Swish", {"alpha=f"}, &run_swish, 24);
  add(":Gelu", {"approximate=s"}, &run_gelu, 20);
  registry[":Clip"] = {.min_inputs = 1,
                       .max_inputs = 3,
                       .attributes = {"min=f<11", "max=f<11"},
                       .run = &run_clip,
                       .types = kNumbers,
                       .native = kTypeF32 | kTypeF64 | kTypeI64 | kTypeU64,
                       .same = kEach};
}

}  // namespace calkit::exec
