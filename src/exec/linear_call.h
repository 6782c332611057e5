#pragma once
/// Operators that multiply by constant weights.
#include <vector>

#include "call.h"
#include "linear.h"

namespace calkit::exec {

/// The weights [n, k] of a node, packed once, and shared where the options say so.
Result<std::shared_ptr<const Linear>> linear_of(const onnx::Node& node, const Tensor& w, const KernelOptions& options);

/// x [..., k] through `linear` into output 0, which keeps x's leading axes. @param bias [n], added in F32 before the
/// one rounding, or empty. kInput if x does not fit.
Result<Tensor> apply_linear(const Call& call, const Tensor& x, const Linear& linear, const std::vector<float>& bias);
/// The shape of apply_linear()'s result.
Result<Shape> linear_shape(const Call& call, const Tensor& x, const Linear& linear);

}  // namespace calkit::exec
