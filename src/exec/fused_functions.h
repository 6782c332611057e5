#pragma once
/// Operators of the domain calkit.fused come with a graph as model-local functions. Where exec has a kernel, the call
/// may stay.
#include "calkit/exec/functions.h"

namespace calkit::exec {

/// What has_fused_kernel() compares: everything of a function but the names of its nodes.
std::string fused_digest(const onnx::Function& function);

}  // namespace calkit::exec
