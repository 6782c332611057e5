#pragma once
// Graphs of the bundled checkpoints, as the tests of fusions need them.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "calkit/fusion/fusion.h"
#include "calkit/hf/checkpoint.h"
#include "calkit/hf/spec.h"
#include "calkit/model/graph.h"
#include "calkit/passes/normalize.h"

namespace calkit::passes {

inline onnx::Model graph_of(const std::string& name, model::Phase phase, DType dtype = DType::kF32) {
  const std::filesystem::path dir = std::filesystem::path(CALKIT_TEST_DATA) / "models" / name;
  const auto spec = hf::read_spec(dir);
  EXPECT_TRUE(spec.ok()) << spec.error().message;
  const auto weights = hf::Checkpoint::open(dir);
  EXPECT_TRUE(weights.ok());
  auto graph = model::build_graph(*spec, *weights, phase, dtype);
  EXPECT_TRUE(graph.ok());
  return std::move(*graph);
}

/// In an order that can run, without what nobody needs, with the shapes of all values.
inline onnx::Model ready(onnx::Model model) {
  auto shaped = infer(remove_dead_code(put_in_order(std::move(model)).model).model);
  EXPECT_TRUE(shaped.ok()) << shaped.error().message;
  return put_in_order(std::move(shaped->model)).model;
}

inline onnx::Model quantized(onnx::Model model) {
  auto made = fusion::quantize_projections(ready(std::move(model)));
  EXPECT_TRUE(made.ok()) << made.error().message;
  return ready(std::move(made->model));
}

/// Nodes by operator, those of other domains as "domain:type".
inline std::map<std::string, int> counts(const onnx::Model& model) {
  std::map<std::string, int> out;
  for (const auto& node : model.graph.nodes)
    ++out[node.domain.empty() ? node.op_type : node.domain + ":" + node.op_type];
  return out;
}

}  // namespace calkit::passes
