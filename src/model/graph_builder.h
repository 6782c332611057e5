#pragma once
// Appends nodes and constants to a graph; each call names the value it makes and returns that name.
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "calkit/onnx/model.h"

namespace calkit::model {

class GraphBuilder {
 public:
  explicit GraphBuilder(onnx::Graph& graph) : graph_(graph) {}

  std::string node(std::string op_type, std::vector<std::string> inputs, std::string output,
                   std::vector<onnx::Attribute> attributes = {}) {
    nodes(std::move(op_type), std::move(inputs), {output}, std::move(attributes));
    return output;
  }
  void nodes(std::string op_type, std::vector<std::string> inputs, std::vector<std::string> outputs,
             std::vector<onnx::Attribute> attributes = {}) {
    graph_.nodes.push_back(
        onnx::make_node(std::move(op_type), std::move(inputs), std::move(outputs), std::move(attributes)));
  }
  /// y = x * weight^T (+ bias): the weight keeps the checkpoint's layout [out, in], a Transpose turns it.
  /// @param bias empty: none. @param name what the inner values are called after.
  std::string linear(const std::string& x, const std::string& weight, const std::string& bias, const std::string& name,
                     const std::string& output) {
    const std::string turned =
        node("Transpose", {weight}, name + ".weight_t", {onnx::attr("perm", std::vector<std::int64_t>{1, 0})});
    if (bias.empty()) return node("MatMul", {x, turned}, output);
    node("MatMul", {x, turned}, name + ".product");
    return node("Add", {name + ".product", bias}, output);
  }
  /// silu(gate) * up, silu(x) = x * sigmoid(x). `prefix` goes before the names of the values.
  std::string gated(const std::string& gate, const std::string& up, const std::string& prefix) {
    node("Sigmoid", {gate}, prefix + "gate_sigmoid");
    node("Mul", {gate, prefix + "gate_sigmoid"}, prefix + "gate_silu");
    return node("Mul", {prefix + "gate_silu", up}, prefix + "gated");
  }
  std::string constant(std::string name, Tensor value) {
    graph_.initializers.push_back(onnx::make_initializer(name, std::move(value)));
    return name;
  }

 private:
  onnx::Graph& graph_;
};

}  // namespace calkit::model
