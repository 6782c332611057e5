#pragma once
// Small graphs for the tests of this folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calkit/inventory/inventory.h"

namespace calkit::inventory::test {

using onnx::Dim;
using onnx::Model;
using onnx::Node;

inline std::filesystem::path data(const std::string& relative) {
  return std::filesystem::path(CALKIT_TEST_DATA) / relative;
}

inline Node node(std::string op, std::vector<std::string> inputs, std::vector<std::string> outputs,
                 std::vector<onnx::Attribute> attributes = {}) {
  Node out;
  const auto colon = op.find(':');
  out.domain = colon == std::string::npos ? "" : op.substr(0, colon);
  out.op_type = colon == std::string::npos ? op : op.substr(colon + 1);
  out.name = outputs.empty() ? op : outputs.front() + "_node";
  out.inputs = std::move(inputs);
  out.outputs = std::move(outputs);
  out.attributes = std::move(attributes);
  return out;
}

/// "B,S,4" with the type: 1 FLOAT, 7 INT64, 16 BFLOAT16.
inline onnx::ValueInfo value(std::string name, const std::string& dims, onnx::ElementType type = 1) {
  onnx::ValueInfo out{std::move(name), type, std::vector<Dim>{}};
  std::string word;
  for (const char c : dims + ",") {
    if (c != ',') {
      word += c;
    } else if (!word.empty()) {
      out.shape->push_back(std::isdigit(static_cast<unsigned char>(word[0])) ? Dim::of(std::stoll(word))
                           : word == "?"                                     ? Dim{}
                                                                             : Dim::symbol(word));
      word.clear();
    }
  }
  return out;
}

inline onnx::Initializer weight(std::string name, std::vector<std::int64_t> dims, onnx::ElementType type = 1) {
  onnx::Initializer out;
  out.name = std::move(name);
  out.type = type;
  std::uint64_t elements = 1;
  for (const auto extent : dims) elements *= static_cast<std::uint64_t>(extent);
  out.bytes = onnx::packed_bytes(type, elements);
  out.dims = std::move(dims);
  return out;
}

inline onnx::Initializer numbers(std::string name, const std::vector<std::int64_t>& values) {
  onnx::Initializer out = weight(std::move(name), {static_cast<std::int64_t>(values.size())}, 7);
  out.data = Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
  return out;
}

inline Model model(std::vector<onnx::ValueInfo> inputs, std::vector<onnx::Initializer> weights, std::vector<Node> nodes,
                   std::vector<onnx::ValueInfo> outputs) {
  Model out;
  out.ir_version = 11;
  out.opsets[""] = 23;
  out.graph.inputs = std::move(inputs);
  out.graph.initializers = std::move(weights);
  out.graph.nodes = std::move(nodes);
  out.graph.outputs = std::move(outputs);
  return out;
}

/// Without the standard shape inference: calkit's own alone.
inline Inventory take(const Model& model, const Options& options = {}) {
  onnx::Outline outline;
  outline.model = model;
  outline.inputs = model.graph.inputs;
  outline.outputs = model.graph.outputs;
  outline.problems = onnx::structure_problems(model);
  auto out = inventory_of(outline, options);
  EXPECT_TRUE(out.ok());
  return out.ok() ? *out : Inventory{};
}

inline const Family& family(const Inventory& inventory, const std::string& op) {
  static const Family none;
  for (const Family& candidate : inventory.families)
    if (candidate.op == op) return candidate;
  ADD_FAILURE() << "no family of " << op;
  return none;
}

}  // namespace calkit::inventory::test
