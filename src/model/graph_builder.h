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
    onnx::Node made;
    made.name = outputs.front();
    made.op_type = std::move(op_type);
    made.inputs = std::move(inputs);
    made.outputs = std::move(outputs);
    made.attributes = std::move(attributes);
    graph_.nodes.push_back(std::move(made));
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
    onnx::Initializer made;
    made.name = name;
    made.type = onnx::from_dtype(value.dtype());
    made.dims = value.shape();
    made.bytes = value.bytes();
    made.data = std::move(value);
    graph_.initializers.push_back(std::move(made));
    return name;
  }

 private:
  onnx::Graph& graph_;
};

}  // namespace calkit::model
