#pragma once
// The operators of a graph, without weights; private to the module.
#include "calkit/model/graph.h"

namespace calkit::model {

/// Nodes, inputs, outputs and the recipe's own small constants; the checkpoint's tensors are still missing.
onnx::Model build_structure(const hf::ModelSpec& spec, Phase phase, DType dtype);

/// Adds the checkpoint's tensors in their order in the graph. With `convert_now` false a tensor of another
/// element type is attached as it is stored (type FLOAT, data BF16) for onnx::save to convert on the way; nothing but
/// save may see such a model.
Status attach_weights(onnx::Model& model, const hf::ModelSpec& spec, const hf::Checkpoint& weights, DType dtype,
                      bool convert_now);

}  // namespace calkit::model
