#pragma once
/// Rewrites of a graph before it runs. None changes a graph output. In F32 each keeps the numbers; in BF16 one operator
/// rounds once, as the peers' kernels do, where several rounded several times.
#include <optional>
#include <string>
#include <vector>

#include "calkit/onnx/model.h"

namespace calkit::exec {

/// MatMul(x, Transpose(w)) with an initialiser w [N, K] becomes calkit:MatMulNT(x, w): no transposed copy of any
/// weight.
void use_weights_as_stored(onnx::Graph& graph);

/// Mul(Mul(g, Sigmoid(g)), u) becomes calkit:SwiGLU(g, u).
void use_gated_units(onnx::Graph& graph);

/// Add of a constant vector to a calkit:MatMulNT that nobody else reads becomes its third operand.
void use_biases(onnx::Graph& graph);

/// The experts of a layer, as model/graph.h describes them, become one calkit:Experts over views of their matrices.
/// Needs use_gated_units() to have run. A layer of another form stays as it is; its stacks become whole tensors.
Status use_experts(onnx::Graph& graph);

/// One layer's cache in a decode graph: graph inputs, and the prefill outputs that fill them.
struct LayerCache {
  std::string key_input, value_input;      ///< past_key.I, past_value.I
  std::string key_present, value_present;  ///< present_key.I, present_value.I
};
constexpr const char* kPastLength = "calkit.past_length";  ///< the input that use_caches() adds: int32 [B]

/// Attention with past and present as graph inputs and outputs becomes calkit:CacheAttention, which writes into caches
/// of a fixed capacity instead of copying the past at each token. The past inputs become the caches; the present
/// outputs go. kInput if an Attention of the graph is of another form, or there is none.
Result<std::vector<LayerCache>> use_caches(onnx::Graph& graph);

}  // namespace calkit::exec
