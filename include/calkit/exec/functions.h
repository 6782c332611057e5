#pragma once
/// Model-local functions: calls are replaced by the nodes of the function.
#include "calkit/onnx/model.h"

namespace calkit::exec {

/// Afterwards the model has no functions. Values inside a call get names of their own, "CALL/value". Graphs that nodes
/// hold are copied where they change. kInput for functions that call themselves and for more than a million nodes.
/// @param all false: calls of calkit.fused that a kernel takes as they are stay nodes.
Status inline_functions(onnx::Model& model, bool all);

}  // namespace calkit::exec
