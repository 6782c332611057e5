#pragma once
// The mixture of experts of one layer, in standard operators; private to the module.
#include <string>

#include "calkit/hf/spec.h"
#include "graph_builder.h"

namespace calkit::model {

/// Numbers that add_experts() of all layers refers to.
void add_expert_constants(GraphBuilder& add, const hf::ModelSpec& spec);

/// x [B, S, H] -> the weighted sum of each token's experts, "layer.I.mlp_out" [B, S, H].
/// Router: softmax over all experts in F32, the largest k, their weights scaled to a sum of 1 where the family does so.
/// Experts: each row gathers the matrices of those it takes, multiplies, and sums the answers times their weights.
/// Values that probes read, over T = B * S rows: layer.I.router_logits [T, E], layer.I.router_experts int64 [T, k]
/// (largest weight first), layer.I.router_weights [T, k].
std::string add_experts(GraphBuilder& add, const hf::ModelSpec& spec, onnx::ElementType type, std::int64_t layer,
                        const std::string& x);

}  // namespace calkit::model
