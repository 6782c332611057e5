// Cast, CastLike and BitCast between the element types calkit has.
#include <fmt/format.h>

#include <cstring>

#include "call.h"

namespace calkit::exec {
namespace {

template <class T>
void nonzero(const Tensor& x, Tensor& y) {
  const auto from = x.data<T>();
  auto to = y.mutable_data<std::uint8_t>();
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] != T(0);
}

void to_bool(const Tensor& x, const Tensor& floats, Tensor& y) {
  if (x.dtype() == DType::kF64)
    nonzero<double>(x, y);
  else if (has_type(kFloatTypes, x.dtype()))
    nonzero<float>(floats, y);
  else
    visit_integer(x.dtype(), [&]<class T>(T) { nonzero<T>(x, y); });
}

// Integers of too many bits lose the upper ones.
void between_integers(const Tensor& x, Tensor& y) {
  visit_integer(x.dtype(), [&]<class From>(From) {
    visit_integer(y.dtype(), [&]<class To>(To) {
      const auto from = x.data<From>();
      auto to = y.mutable_data<To>();
      for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<To>(from[i]);
    });
  });
}

Status cast_to(const Call& call, const Tensor& x, DType dtype) {
  const bool from_integer = has_type(kIntegers | kTypeBool, x.dtype());
  if (from_integer && has_type(kIntegers, dtype)) {
    CALKIT_TRY(Tensor y, call.out(0, dtype, x.shape()));
    between_integers(x, y);
    return {};
  }
  CALKIT_TRY(Tensor y, call.out(0, dtype, x.shape()));
  if (dtype == DType::kBool && x.dtype() != DType::kBool) {
    CALKIT_TRY(const Tensor floats, convert(x, has_type(kFloatTypes, x.dtype()) ? DType::kF32 : x.dtype()));
    to_bool(x, floats, y);
    return {};
  }
  // A bool is a byte that is 0 or 1.
  const Tensor& source =
      x.dtype() == DType::kBool && dtype != DType::kBool ? Tensor::borrow(DType::kU8, x.shape(), x.raw(), nullptr) : x;
  CALKIT_TRY(const Tensor converted, convert(source, dtype), node_label(call.node));
  if (y.bytes() > 0) std::memcpy(y.mutable_raw(), converted.raw(), y.bytes());
  return {};
}

Result<DType> wanted_type(const Call& call) {
  const auto code = call.node.int_or("to", 0);
  const bool known = code > 0 && code < 64 && onnx::to_dtype(static_cast<onnx::ElementType>(code)).has_value();
  if (!known) return call.fault(fmt::format("to = {}", code), "an element type that calkit computes with");
  return *onnx::to_dtype(static_cast<onnx::ElementType>(code));
}

Status run_cast(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(const DType dtype, wanted_type(call));
  return cast_to(call, *x, dtype);
}

Status run_cast_like(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(const Tensor* like, call.input(1));
  return cast_to(call, *x, like->dtype());
}

Status run_bit_cast(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(const DType dtype, wanted_type(call));
  if (dtype_bytes(dtype) != dtype_bytes(x->dtype()))
    return call.fault(0, tensor_text(*x), fmt::format("elements of {} bytes", dtype_bytes(dtype)));
  CALKIT_TRY(Tensor y, call.out(0, dtype, x->shape()));
  if (y.bytes() > 0) std::memcpy(y.mutable_raw(), x->raw(), y.bytes());
  return {};
}

}  // namespace

void register_cast(Registry& registry) {
  registry[":Cast"] = {.min_inputs = 1,
                       .max_inputs = 1,
                       .attributes = {"to=i", "saturate=i>=19", "round_mode=s>=24"},
                       .run = &run_cast,
                       .narrowed = 0};
  registry[":CastLike"] = {.min_inputs = 2,
                           .max_inputs = 2,
                           .attributes = {"saturate=i>=19", "round_mode=s>=24"},
                           .run = &run_cast_like,
                           .narrowed = 0,
                           .since = 15};
  registry[":BitCast"] = {
      .min_inputs = 1, .max_inputs = 1, .attributes = {"to=i"}, .run = &run_bit_cast, .narrowed = 0, .since = 26};
}

}  // namespace calkit::exec
