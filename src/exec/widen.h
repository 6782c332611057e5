#pragma once
/// Operators in element types that their own code does not compute in.
#include <memory>

#include "call.h"

namespace calkit::exec {

/// Wraps the kernel of an operator whose `types` are more than its `native` ones: such operands are widened, the
/// results narrowed, once. Operands that never change are widened once.
class WideningKernel : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const Operator& op, const onnx::Node& node,
                                              std::span<const Tensor* const> constants, const KernelOptions& options);
  Status run(std::span<const Tensor* const> inputs, const OutputAllocator& out) override;
  std::uint64_t packed_bytes() const override { return inner_->packed_bytes(); }

 private:
  WideningKernel(const Operator& op, const onnx::Node& node) : op_(op), node_(node), constants_(node.inputs.size()) {}
  const Operator& op_;
  onnx::Node node_;
  std::vector<std::optional<Tensor>> constants_;  ///< by input, widened
  std::unique_ptr<Kernel> inner_;
};

/// The main operand's type is one of the operator's, and operands that must be of that type are.
Status check_types(const Operator& op, const Call& call);
/// run() of a stateless operator that computes in `native` types.
Status run_widened(const Operator& op, const Call& call, const std::vector<std::optional<Tensor>>& constants,
                   const std::function<Status(const Call&)>& run);

}  // namespace calkit::exec
