// Cast between the element types calkit has.
#include <fmt/format.h>

#include <cstring>

#include "call.h"

namespace calkit::exec {
namespace {

Result<Tensor> nonzero(const Tensor& x) {
  CALKIT_TRY(Tensor y, Tensor::zeros(DType::kBool, x.shape()));
  auto to = y.mutable_data<std::uint8_t>();
  if (x.dtype() == DType::kI64) {
    const auto from = x.data<std::int64_t>();
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] != 0;
    return y;
  }
  CALKIT_TRY(const auto from, to_floats(x));
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] != 0;
  return y;
}

Result<Tensor> cast(const Tensor& x, DType to) {
  if (x.dtype() == to) return x;
  if (to == DType::kBool) return nonzero(x);
  if (x.dtype() == DType::kBool)  // a bool is a byte that is 0 or 1
    return convert(Tensor::borrow(DType::kU8, x.shape(), x.raw(), nullptr), to);
  return convert(x, to);
}

Status run_cast(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  const auto code = call.node.int_or("to", 0);
  const auto to = onnx::to_dtype(static_cast<onnx::ElementType>(code));
  if (!to) return call.fault(fmt::format("to = {}", code), "an element type that calkit computes with");
  CALKIT_TRY(const Tensor converted, cast(*x, *to), node_label(call.node));
  CALKIT_TRY(Tensor y, call.out(0, *to, x->shape()));
  if (y.bytes() > 0) std::memcpy(y.mutable_raw(), converted.raw(), y.bytes());
  return {};
}

}  // namespace

void register_cast(Registry& registry) {
  registry[":Cast"] = {.min_inputs = 1, .max_inputs = 1, .attributes = {"to", "saturate"}, .run = &run_cast};
}

}  // namespace calkit::exec
