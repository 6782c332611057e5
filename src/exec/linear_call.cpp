#include "linear_call.h"

#include <fmt/format.h>

namespace calkit::exec {

Result<std::shared_ptr<const Linear>> linear_of(const onnx::Node& node, const Tensor& w, const KernelOptions& options) {
  if (w.rank() != 2 || !has_type(kLinearTypes, w.dtype()))
    return input_error("graph", node_label(node) + ": weights", tensor_text(w), "f32 or bf16 of rank 2");
  if (options.linear_cache) {
    CALKIT_TRY(auto shared, options.linear_cache->get(w, options.threads), node_label(node));
    return shared;
  }
  CALKIT_TRY(std::shared_ptr<const Linear> made, Linear::create(w, options.threads), node_label(node));
  return made;
}

Result<Shape> linear_shape(const Call& call, const Tensor& x, const Linear& linear) {
  if (x.dtype() != linear.dtype())
    return call.fault(0, tensor_text(x), fmt::format("{}, as the weights", dtype_name(linear.dtype())));
  if (x.rank() == 0 || x.dim(-1) != static_cast<std::int64_t>(linear.inputs()))
    return call.fault(0, tensor_text(x), fmt::format("a last axis of {}", linear.inputs()));
  Shape shape = x.shape();
  shape.back() = static_cast<std::int64_t>(linear.outputs());
  return shape;
}

Result<Tensor> apply_linear(const Call& call, const Tensor& x, const Linear& linear, const std::vector<float>& bias) {
  CALKIT_TRY(const Shape shape, linear_shape(call, x, linear));
  CALKIT_TRY(Tensor y, call.out(0, x.dtype(), shape));
  CALKIT_CHECK_OK(linear.multiply(x.raw(), extent(x.shape(), 0, x.rank() - 1), y.mutable_raw(),
                                  bias.empty() ? nullptr : bias.data()));
  return y;
}

}  // namespace calkit::exec
