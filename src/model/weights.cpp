#include <fmt/format.h>

#include <utility>

#include "calkit/model/graph.h"
#include "graph_recipe.h"

namespace calkit::model {
namespace {

Status check_spec(const hf::ModelSpec& spec, DType dtype) {
  if (dtype != DType::kF32 && dtype != DType::kBF16)
    return Error{ErrorKind::kUsage,
                 fmt::format("a graph cannot be built in {}; allowed: f32, bf16", dtype_name(dtype))};
  if (spec.head_dim <= 0 || spec.head_dim % 2 != 0)
    return input_error("config.json", "/head_dim", fmt::format("{}", spec.head_dim), "an even number");
  if (spec.activation != "silu") return input_error("config.json", "/hidden_act", spec.activation, "silu");
  return {};
}

bool is_weight_type(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

Result<onnx::Initializer> weight(const hf::Checkpoint& weights, const hf::ExpectedTensor& expected, DType dtype,
                                 bool convert_now) {
  CALKIT_TRY(Tensor stored, weights.tensor(expected.name));
  if (stored.shape() != expected.shape)
    return input_error("", expected.name, shape_text(stored.shape()), shape_text(expected.shape));
  if (!is_weight_type(stored.dtype()))
    return input_error("", expected.name, std::string(dtype_name(stored.dtype())), "f32, f16 or bf16");
  onnx::Initializer out;
  out.name = expected.name;
  out.type = onnx::from_dtype(dtype);
  out.dims = expected.shape;
  out.bytes = stored.elements() * dtype_bytes(dtype);
  if (stored.dtype() != dtype && convert_now) {
    CALKIT_TRY(Tensor converted, convert(stored, dtype), "converting " + expected.name);
    weights.release(expected.name);
    stored = std::move(converted);
  }
  out.data = std::move(stored);
  return out;
}

}  // namespace

Status attach_weights(onnx::Model& model, const hf::ModelSpec& spec, const hf::Checkpoint& weights, DType dtype,
                      bool convert_now) {
  CALKIT_CHECK_OK(check_spec(spec, dtype));
  for (const hf::ExpectedTensor& expected : hf::expected_tensors(spec)) {
    CALKIT_TRY(onnx::Initializer made, weight(weights, expected, dtype, convert_now), "building the graph");
    model.graph.initializers.push_back(std::move(made));
  }
  return {};
}

Result<onnx::Model> build_graph(const hf::ModelSpec& spec, const hf::Checkpoint& weights, Phase phase, DType dtype) {
  CALKIT_CHECK_OK(check_spec(spec, dtype));
  onnx::Model model = build_structure(spec, phase, dtype);
  CALKIT_CHECK_OK(attach_weights(model, spec, weights, dtype, true));
  return model;
}

Result<GraphPair> build_graphs(const hf::ModelSpec& spec, const hf::Checkpoint& weights, DType dtype) {
  CALKIT_TRY(onnx::Model prefill, build_graph(spec, weights, Phase::kPrefill, dtype));
  onnx::Model decode = build_structure(spec, Phase::kDecode, dtype);
  for (const hf::ExpectedTensor& expected : hf::expected_tensors(spec))
    decode.graph.initializers.push_back(*prefill.graph.initializer(expected.name));
  return GraphPair{std::move(prefill), std::move(decode)};
}

}  // namespace calkit::model
