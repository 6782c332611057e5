#pragma once
// Each fused operator on operands of a run; private to the module.
#include "calkit/passes/fuse.h"

namespace calkit::passes {

/// One call of each operator in the graph: its function and its kernel on the operands that it has in a run with
/// `feed`, compared, timed, and kept below `folder` in goldens/GRAPH.KERNEL.npz.
Result<std::vector<KernelReport>> examine_kernels(const onnx::Model& fused, const std::string& graph, const Feed& feed,
                                                  const FuseOptions& options, const std::filesystem::path& folder);

/// Functions of the domain that a graph comes with already are those of this version: others mean something else.
Status check_functions(const onnx::Model& model);

}  // namespace calkit::passes
