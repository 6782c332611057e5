#include <fmt/format.h>

#include <map>
#include <utility>

#include "calkit/model/graph.h"
#include "graph_recipe.h"

namespace calkit::model {

Status check_spec(const hf::ModelSpec& spec, DType dtype) {
  if (dtype != DType::kF32 && dtype != DType::kBF16)
    return Error{ErrorKind::kUsage,
                 fmt::format("a graph cannot be built in {}; allowed: f32, bf16", dtype_name(dtype))};
  if (spec.head_dim <= 0 || spec.head_dim % 2 != 0)
    return input_error("config.json", "/head_dim", fmt::format("{}", spec.head_dim), "an even number");
  if (spec.activation != "silu") return input_error("config.json", "/hidden_act", spec.activation, "silu");
  return {};
}

namespace {

// "model.layers.0.mlp.experts.17.up_proj.weight" -> "model.layers.0.mlp.experts.up_proj.weight"; others as they are.
std::string without_expert(const std::string& name) {
  static constexpr std::string_view kExperts = ".mlp.experts.";
  const std::size_t at = name.find(kExperts);
  if (at == std::string::npos) return name;
  const std::size_t number = at + kExperts.size();
  return name.substr(0, number) + name.substr(name.find('.', number) + 1);
}

bool is_weight_type(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

Result<Tensor> stored_tensor(const hf::Checkpoint& weights, const std::string& name, const Shape& shape, DType dtype,
                             bool convert_now) {
  CALKIT_TRY(Tensor stored, weights.tensor(name));
  if (stored.shape() != shape) return input_error("", name, shape_text(stored.shape()), shape_text(shape));
  if (!is_weight_type(stored.dtype()))
    return input_error("", name, std::string(dtype_name(stored.dtype())), "f32, f16 or bf16");
  if (stored.dtype() == dtype || !convert_now) return stored;
  CALKIT_TRY(Tensor converted, convert(stored, dtype), "converting " + name);
  weights.release(name);
  return converted;
}

Result<onnx::Initializer> weight(const hf::Checkpoint& weights, const GraphTensor& wanted, DType dtype,
                                 bool convert_now) {
  onnx::Initializer out;
  out.name = wanted.name;
  out.type = onnx::from_dtype(dtype);
  out.dims = wanted.shape;
  const bool stacked = wanted.stored.front() != wanted.name;
  const Shape shape(wanted.shape.begin() + (stacked ? 1 : 0), wanted.shape.end());
  for (const std::string& name : wanted.stored) {
    CALKIT_TRY(Tensor tensor, stored_tensor(weights, name, shape, dtype, convert_now));
    out.bytes += tensor.elements() * dtype_bytes(dtype);
    if (stacked)
      out.pieces.push_back({name, std::move(tensor)});
    else
      out.data = std::move(tensor);
  }
  return out;
}

}  // namespace

std::vector<GraphTensor> graph_tensors(const hf::ModelSpec& spec) {
  std::vector<GraphTensor> out;
  std::map<std::string, std::size_t> stacks;
  for (hf::ExpectedTensor& expected : hf::expected_tensors(spec)) {
    const std::string name = without_expert(expected.name);
    if (name == expected.name) {
      out.push_back({name, std::move(expected.shape), {name}});
      continue;
    }
    const auto [at, fresh] = stacks.emplace(name, out.size());
    if (fresh) {
      expected.shape.insert(expected.shape.begin(), 0);
      out.push_back({name, std::move(expected.shape), {}});
    }
    GraphTensor& stack = out[at->second];
    ++stack.shape[0];
    stack.stored.push_back(expected.name);
  }
  return out;
}

Status attach_weights(onnx::Model& model, const hf::ModelSpec& spec, const hf::Checkpoint& weights, DType dtype,
                      bool convert_now) {
  CALKIT_CHECK_OK(check_spec(spec, dtype));
  for (const GraphTensor& wanted : graph_tensors(spec)) {
    CALKIT_TRY(onnx::Initializer made, weight(weights, wanted, dtype, convert_now), "building the graph");
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
  for (const GraphTensor& tensor : graph_tensors(spec))
    decode.graph.initializers.push_back(*prefill.graph.initializer(tensor.name));
  return GraphPair{std::move(prefill), std::move(decode)};
}

}  // namespace calkit::model
