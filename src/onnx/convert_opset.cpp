#include <fmt/format.h>
#include <onnx/version_converter/convert.h>

#include <map>

#include "calkit/onnx/io.h"
#include "convert.h"

namespace calkit::onnx {
namespace {

constexpr std::uint64_t kInside = 1024;  // the converter reads shapes and axes; weights it only carries along

/// The model with its weights as inputs, so that the converter copies none.
Model without_weights(const Model& model, std::map<std::string, Initializer>& weights) {
  Model out = model;
  std::erase_if(out.graph.initializers, [&](Initializer& tensor) {
    if (tensor.data && tensor.bytes <= kInside) return false;
    bool listed = false;
    for (const ValueInfo& input : out.graph.inputs) listed = listed || input.name == tensor.name;
    ValueInfo input{tensor.name, tensor.type, std::vector<Dim>()};
    for (const std::int64_t extent : tensor.dims) input.shape->push_back(Dim::of(extent));
    if (!listed) out.graph.inputs.push_back(std::move(input));
    weights.emplace(tensor.name, std::move(tensor));
    return true;
  });
  return out;
}

}  // namespace

Result<Model> convert_opset(const Model& model, std::int64_t version) {
  const auto known = model.opsets.find("");
  if (known != model.opsets.end() && known->second == version) return model;
  std::map<std::string, Initializer> weights;
  const Model light = without_weights(model, weights);
  CALKIT_TRY(::onnx::ModelProto proto, to_proto(light));
  for (const Initializer& tensor : light.graph.initializers)
    CALKIT_CHECK_OK(write_tensor(tensor, *proto.mutable_graph()->add_initializer()));
  Model out;
  try {
    const ::onnx::ModelProto made = ::onnx::version_conversion::ConvertVersion(proto, static_cast<int>(version));
    const std::string bytes = made.SerializeAsString();
    CALKIT_TRY(out, load_bytes(std::as_bytes(std::span(bytes)), "the converted model", {}));
  } catch (const std::exception& problem) {
    return Error(ErrorKind::kInput,
                 fmt::format("converting to opset {}: {}", version, std::string_view(problem.what()).substr(0, 300)),
                 "keep the opset, or export the model with the one you need");
  }
  std::erase_if(out.graph.inputs, [&](const ValueInfo& input) {
    if (!weights.contains(input.name)) return false;
    for (const ValueInfo& before : model.graph.inputs)
      if (before.name == input.name) return false;
    return true;
  });
  for (const Initializer& tensor : model.graph.initializers)
    if (const auto weight = weights.find(tensor.name); weight != weights.end())
      out.graph.initializers.push_back(weight->second);
  return out;
}

}  // namespace calkit::onnx
