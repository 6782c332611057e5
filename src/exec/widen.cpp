#include "widen.h"

namespace calkit::exec {
namespace {

bool is_same(const Operator& op, std::size_t index) {
  return index == op.main || (index < 32 ? (op.same >> index & 1u) != 0 : op.same == kEach);
}

bool needs_widening(const Operator& op, DType dtype) {
  return has_type(op.types, dtype) && !has_type(op.native, dtype) && wider_type(dtype).has_value();
}

}  // namespace

Status check_types(const Operator& op, const Call& call) {
  const Tensor* main = call.optional(op.main);
  if (main == nullptr) return {};
  if (!has_type(op.types, main->dtype())) return call.fault(op.main, tensor_text(*main), types_text(op.types));
  for (std::size_t i = 0; op.same != 0 && i < call.inputs.size(); ++i)
    if (call.inputs[i] != nullptr && is_same(op, i) && call.inputs[i]->dtype() != main->dtype())
      return call.fault(i, tensor_text(*call.inputs[i]),
                        std::string(dtype_name(main->dtype())) + ", as input " + std::to_string(op.main));
  return {};
}

Status run_widened(const Operator& op, const Call& call, const std::vector<std::optional<Tensor>>& constants,
                   const std::function<Status(const Call&)>& run) {
  CALKIT_CHECK_OK(check_types(op, call));
  const Tensor* main = call.optional(op.main);
  if (main == nullptr || !needs_widening(op, main->dtype())) return run(call);
  const DType dtype = main->dtype();
  std::vector<Tensor> held(call.inputs.size());
  std::vector<const Tensor*> inputs(call.inputs.begin(), call.inputs.end());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr || inputs[i]->dtype() != dtype) continue;
    if (i < constants.size() && constants[i]) {
      inputs[i] = &*constants[i];
      continue;
    }
    CALKIT_TRY(held[i], widened(*inputs[i]), node_label(call.node));
    inputs[i] = &held[i];
  }
  std::vector<std::pair<Tensor, Tensor>> results;  // wide, and where it goes
  const OutputAllocator out = [&](std::size_t index, DType type, const Shape& shape) -> Result<Tensor> {
    if (index >= 32 || (op.narrowed >> index & 1u) == 0 || type != *wider_type(dtype))
      return call.out(index, type, shape);
    CALKIT_TRY(Tensor y, call.out(index, dtype, shape));  // first: it knows the limits
    CALKIT_TRY(Tensor wide, Tensor::zeros(type, shape), node_label(call.node));
    results.emplace_back(wide, y);
    return wide;
  };
  CALKIT_CHECK_OK(run(Call{call.node, inputs, out, call.opset}));
  for (auto& [wide, y] : results) CALKIT_CHECK_OK(narrow_into(wide, y));
  return {};
}

Result<std::unique_ptr<Kernel>> WideningKernel::make(const Operator& op, const onnx::Node& node,
                                                     std::span<const Tensor* const> constants,
                                                     const KernelOptions& options) {
  std::unique_ptr<WideningKernel> out(new WideningKernel(op, node));
  std::vector<const Tensor*> given(constants.begin(), constants.end());
  for (std::size_t i = 0; i < given.size() && i < out->constants_.size(); ++i) {
    if (given[i] == nullptr || !is_same(op, i) || !needs_widening(op, given[i]->dtype())) continue;
    CALKIT_TRY(out->constants_[i], widened(*given[i]), node_label(node));
    given[i] = &*out->constants_[i];
  }
  CALKIT_TRY(out->inner_, op.factory(node, given, options));
  return std::unique_ptr<Kernel>(std::move(out));
}

Status WideningKernel::run(std::span<const Tensor* const> inputs, const OutputAllocator& out) {
  return run_widened(op_, Call{node_, inputs, out}, constants_,
                     [&](const Call& call) { return inner_->run(call.inputs, call.out); });
}

}  // namespace calkit::exec
