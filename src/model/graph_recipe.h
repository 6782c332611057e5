#pragma once
// The operators of a graph, without weights; private to the module.
#include "calkit/model/graph.h"

namespace calkit::model {

/// Nodes, inputs, outputs and the recipe's own small constants; the checkpoint's tensors are still missing.
onnx::Model build_structure(const hf::ModelSpec& spec, Phase phase, DType dtype, const FixedAxes& fixed = {});

/// A weight of the graph: one tensor of the checkpoint, or the same tensor of all experts of a layer, stacked.
struct GraphTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<std::string> stored;  ///< the checkpoint's names, in the order of the first axis where there are several
};
std::vector<GraphTensor> graph_tensors(const hf::ModelSpec& spec);

/// kUsage, kInput: a dtype or a spec that no graph can be built of.
Status check_spec(const hf::ModelSpec& spec, DType dtype);

/// Adds the checkpoint's tensors in their order in the graph. With `convert_now` false a tensor of another
/// element type is attached as it is stored (type FLOAT, data BF16) for onnx::save to convert on the way; nothing but
/// save may see such a model.
Status attach_weights(onnx::Model& model, const hf::ModelSpec& spec, const hf::Checkpoint& weights, DType dtype,
                      bool convert_now);

}  // namespace calkit::model
