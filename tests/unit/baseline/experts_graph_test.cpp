// The experts' graph runs in two ways: operator by operator, as any ONNX runtime does, and as calkit:Experts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calkit/exec/session.h"
#include "calkit/hf/checkpoint.h"
#include "calkit/model/graph.h"
#include "calkit/tensor/metrics.h"
#include "exec/plan.h"

namespace calkit {
namespace {

onnx::Model graph_of(const std::string& name, DType dtype) {
  const std::string dir = std::string(CALKIT_TEST_DATA) + "/models/" + name;
  const auto spec = hf::read_spec(dir);
  const auto weights = hf::Checkpoint::open(dir);
  EXPECT_TRUE(spec.ok() && weights.ok());
  auto model = model::build_graph(*spec, *weights, model::Phase::kPrefill, dtype);
  EXPECT_TRUE(model.ok()) << model.error().message;
  return std::move(*model);
}

std::size_t count(const onnx::Graph& graph, std::string_view op_type) {
  std::size_t out = 0;
  for (const auto& node : graph.nodes) out += node.op_type == op_type;
  return out;
}

Tensor mlp_out(onnx::Model model) {
  auto session = exec::Session::create(std::move(model));
  EXPECT_TRUE(session.ok()) << session.error().message;
  std::vector<std::int64_t> ids, positions;
  for (std::int64_t i = 0; i < 23; ++i) ids.push_back(7 * i + 11), positions.push_back(i);
  const std::string wanted[] = {"layer.0.mlp_out"};
  auto results =
      session->run({{"token_ids", Tensor::of({1, 23}, ids)}, {"position_ids", Tensor::of({1, 23}, positions)}}, wanted);
  EXPECT_TRUE(results.ok()) << results.error().message;
  return results->front();
}

TEST(ExpertsGraph, EachLayerBecomesOneOperator) {
  onnx::Model model = graph_of("qwen3moe-mixed-v4", DType::kF32);
  exec::use_weights_as_stored(model.graph);
  exec::use_gated_units(model.graph);
  ASSERT_TRUE(exec::use_experts(model.graph).ok());
  EXPECT_EQ(count(model.graph, "Experts"), 2u);
  EXPECT_EQ(count(model.graph, "SwiGLU"), 4u);  // the dense layers
  EXPECT_EQ(count(model.graph, "MatMul"), 0u);
  EXPECT_EQ(count(model.graph, "Gather"), 1u);  // the embedding
}

// An inner value that is also an output keeps its layer as it is; its products sum in another order.
TEST(ExpertsGraph, BothWaysGiveTheSameNumbers) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    onnx::Model plain = graph_of("qwen3moe-e8k2", dtype);
    plain.graph.outputs.push_back({"layer.0.weighted", onnx::from_dtype(dtype), std::nullopt});
    const Tensor fused = mlp_out(graph_of("qwen3moe-e8k2", dtype)), apart = mlp_out(std::move(plain));
    ASSERT_EQ(fused.shape(), apart.shape());
    const auto got = to_floats(fused), want = to_floats(apart);
    ASSERT_TRUE(got.ok() && want.ok());
    EXPECT_LE(compare(*got, *want).nmse.value_or(1), dtype == DType::kF32 ? 1e-12 : 1e-5) << dtype_name(dtype);
  }
}

}  // namespace
}  // namespace calkit
