#pragma once
/// Operators of the domain calkit.fused come with a graph as model-local functions. Where exec has a kernel, the call
/// may stay.
#include "calkit/onnx/model.h"

namespace calkit::exec {

/// The function has, word for word, the body of version 1 of the domain that the kernel of its name was written for.
bool has_fused_kernel(const onnx::Function& function);
/// What has_fused_kernel() compares: everything of a function but the names of its nodes.
std::string fused_digest(const onnx::Function& function);

}  // namespace calkit::exec
