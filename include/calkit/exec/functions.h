#pragma once
/// Model-local functions: calls are replaced by the nodes of the function.
#include "calkit/onnx/model.h"

namespace calkit::exec {

/// Afterwards the model has no functions. Values inside a call get names of their own, "CALL/value". Graphs that nodes
/// hold are copied where they change. kInput for functions that call themselves and for more than a million nodes.
/// @param all false: calls of calkit.fused that a kernel takes as they are stay nodes.
Status inline_functions(onnx::Model& model, bool all);

/// The function has, word for word, the body of version 1 of calkit.fused that the kernel of its name was written for.
bool has_fused_kernel(const onnx::Function& function);

}  // namespace calkit::exec
