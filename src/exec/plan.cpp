#include "plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "call.h"

namespace calkit::exec {
namespace {

bool is_matrix_transpose(const onnx::Node& node) {
  if (node.op_type != "Transpose" || !node.domain.empty()) return false;
  const auto* perm = node.attribute("perm");
  return perm == nullptr || perm->ints == std::vector<std::int64_t>{1, 0};
}

bool is_weight(const onnx::Initializer& initializer) {
  return initializer.data && initializer.dims.size() == 2 &&
         (initializer.data->dtype() == DType::kF32 || initializer.data->dtype() == DType::kBF16);
}

std::set<std::string> names_of(const std::vector<onnx::ValueInfo>& values) {
  std::set<std::string> out;
  for (const auto& value : values) out.insert(value.name);
  return out;
}

// What a node reads, and the graphs inside it.
void collect_reads(const onnx::Node& node, std::set<std::string>& out) {
  out.insert(node.inputs.begin(), node.inputs.end());
  for (const auto& attribute : node.attributes)
    for (const auto& inner : attribute.graphs) {
      for (const auto& each : inner->nodes) collect_reads(each, out);
      for (const auto& output : inner->outputs) out.insert(output.name);
    }
}

Error unusual_attention(const onnx::Node& node, std::string found) {
  return input_error(
      "decode graph", node_label(node), found,
      "4-D K and V with past_key and past_value as graph inputs and present_key and present_value as graph outputs",
      "export the decode graph with calkit onnx-export");
}

}  // namespace

void use_weights_as_stored(onnx::Graph& graph) {
  std::set<std::string> weights;
  for (const auto& initializer : graph.initializers)
    if (is_weight(initializer)) weights.insert(initializer.name);
  std::map<std::string, std::string> turned;  // transposed value -> weight
  for (const auto& node : graph.nodes)
    if (is_matrix_transpose(node) && node.inputs.size() == 1 && node.outputs.size() == 1 &&
        weights.contains(node.inputs[0]))
      turned[node.outputs[0]] = node.inputs[0];
  std::set<std::string> still_read = names_of(graph.outputs);
  for (auto& node : graph.nodes) {
    if (node.op_type == "MatMul" && node.domain.empty() && node.inputs.size() == 2 && turned.contains(node.inputs[1])) {
      node.op_type = "MatMulNT";
      node.domain = "calkit";
      node.inputs[1] = turned[node.inputs[1]];
    }
    collect_reads(node, still_read);
  }
  std::erase_if(graph.nodes, [&](const onnx::Node& node) {
    return is_matrix_transpose(node) && turned.contains(node.outputs[0]) && !still_read.contains(node.outputs[0]);
  });
}

Result<std::vector<LayerCache>> use_caches(onnx::Graph& graph) {
  const std::set<std::string> inputs = names_of(graph.inputs), outputs = names_of(graph.outputs);
  std::vector<LayerCache> layers;
  std::set<std::string> gone;
  for (auto& node : graph.nodes) {
    if (node.op_type != "Attention" || !node.domain.empty()) continue;
    if (node.inputs.size() != 6 || !node.inputs[3].empty() || !inputs.contains(node.inputs[4]) ||
        !inputs.contains(node.inputs[5]))
      return unusual_attention(node, "other inputs");
    if (node.outputs.size() != 3 || !outputs.contains(node.outputs[1]) || !outputs.contains(node.outputs[2]))
      return unusual_attention(node, "other outputs");
    if (node.attribute("softcap") != nullptr || node.attribute("q_num_heads") != nullptr)
      return unusual_attention(node, "softcap or 3-D operands");
    layers.push_back({node.inputs[4], node.inputs[5], node.outputs[1], node.outputs[2]});
    gone.insert({node.outputs[1], node.outputs[2]});
    node.op_type = "CacheAttention";
    node.domain = "calkit";
    node.inputs = {node.inputs[0], node.inputs[1], node.inputs[2], node.inputs[4], node.inputs[5], kPastLength};
    node.outputs.resize(1);
  }
  if (layers.empty()) return input_error("decode graph", "", "no Attention with a past", "one a layer");
  std::erase_if(graph.outputs, [&](const onnx::ValueInfo& value) { return gone.contains(value.name); });
  graph.inputs.push_back({kPastLength, onnx::from_dtype(DType::kI32), {{onnx::Dim::symbol("B")}}});
  return layers;
}

}  // namespace calkit::exec
