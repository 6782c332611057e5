#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calkit/exec/session.h"
#include "calkit/passes/normalize.h"
#include "names.h"

namespace calkit::passes {
namespace {

constexpr std::uint64_t kMostBytes = 1u << 20;  // read or made by one folded node: weights stay as they are

bool is_float(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF64;
}
bool draws(const onnx::Node& node) {
  return node.op_type.starts_with("Random") || node.op_type == "Multinomial" || node.op_type == "Bernoulli";
}
/// A turned weight stays a weight and a Transpose: kernels read it either way, and its bytes stay those of the file.
bool turns_a_weight(const onnx::Node& node, const std::map<std::string, Tensor>& known) {
  if (node.op_type != "Transpose" || node.inputs.size() != 1) return false;
  const auto value = known.find(node.inputs[0]);
  return value != known.end() && value->second.rank() >= 2 && is_float(value->second.dtype());
}
bool holds_graphs(const onnx::Node& node) {
  return std::any_of(node.attributes.begin(), node.attributes.end(),
                     [](const onnx::Attribute& attribute) { return !attribute.graphs.empty(); });
}

class Folder {
 public:
  explicit Folder(onnx::Model model) : model_(std::move(model)) {
    for (const auto& claim : exec::supported_operators()) supported_.insert(claim);
    for (const auto& function : model_.functions)  // it means what its body says, whatever its name
      supported_.erase((function.domain.empty() ? "ai.onnx" : function.domain) + ":" + function.name);
    std::set<std::string> given;
    for (const auto& input : model_.graph.inputs) given.insert(input.name);
    for (const auto& tensor : model_.graph.initializers)
      if (tensor.data && !given.contains(tensor.name)) known_[tensor.name] = *tensor.data;  // callers may replace those
  }

  Result<Outcome> run() {
    std::vector<onnx::Node> left;
    std::uint64_t constants = 0, folded = 0;
    for (onnx::Node& node : model_.graph.nodes) {
      if (take_constant(node)) {
        ++constants;
        continue;
      }
      CALKIT_TRY(const bool done, fold(node));
      if (done)
        ++folded;
      else
        left.push_back(std::move(node));
    }
    model_.graph.nodes = std::move(left);
    add_used();
    Outcome out{std::move(model_), {}};
    if (constants > 0) out.changes.push_back({"Constant nodes made initialisers", constants});
    if (folded > 0) out.changes.push_back({"nodes folded", folded});
    return out;
  }

 private:
  /// Constant with a tensor; its other forms are folded like any node.
  bool take_constant(const onnx::Node& node) {
    const onnx::Attribute* value = node.attribute("value");
    if (node.op_type != "Constant" || !node.domain.empty() || value == nullptr || !value->tensor) return false;
    made_[node.outputs[0]] = known_[node.outputs[0]] = *value->tensor;
    return true;
  }

  bool can_fold(const onnx::Node& node) const {
    const std::string name = (node.domain.empty() ? "ai.onnx" : node.domain) + ":" + node.op_type;
    if (!supported_.contains(name) || draws(node) || holds_graphs(node) || turns_a_weight(node, known_)) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](const std::string& input) {
      const auto value = known_.find(input);
      return input.empty() || (value != known_.end() && value->second.bytes() <= kMostBytes);
    });
  }

  Result<bool> fold(const onnx::Node& node) {
    if (!can_fold(node)) return false;
    onnx::Model one;
    one.ir_version = model_.ir_version;
    one.opsets = model_.opsets;
    one.graph.name = "fold";
    one.graph.nodes = {node};
    std::vector<std::string> outputs;
    for (const std::string& input : node.inputs) {
      if (input.empty() || one.graph.initializer(input) != nullptr) continue;
      onnx::Initializer tensor;
      tensor.name = input;
      tensor.data = known_.at(input);
      tensor.type = onnx::from_dtype(tensor.data->dtype());
      tensor.dims = tensor.data->shape();
      tensor.bytes = tensor.data->bytes();
      one.graph.initializers.push_back(std::move(tensor));
    }
    for (const std::string& output : node.outputs)
      if (!output.empty()) outputs.push_back(output), one.graph.outputs.push_back({output, 0, std::nullopt});
    exec::SessionOptions options;
    options.max_bytes = 16 * kMostBytes;
    auto session = exec::Session::create(std::move(one), options);
    if (!session.ok()) return false;  // it stays: whoever runs the graph says why
    auto values = session->run({}, outputs);
    if (!values.ok()) return false;
    for (const Tensor& value : *values)
      if (value.bytes() > kMostBytes) return false;
    for (std::size_t i = 0; i < outputs.size(); ++i) made_[outputs[i]] = known_[outputs[i]] = (*values)[i];
    return true;
  }

  /// New initialisers for what the remaining nodes and the outputs read.
  void add_used() {
    std::set<std::string> read;
    for (const onnx::Node& node : model_.graph.nodes) add_reads(node, read);
    for (const auto& output : model_.graph.outputs) read.insert(output.name);
    for (auto& [name, value] : made_) {
      if (!read.contains(name)) continue;
      model_.graph.initializers.push_back(onnx::make_initializer(name, std::move(value)));
    }
  }

  onnx::Model model_;
  std::set<std::string> supported_;
  std::map<std::string, Tensor> known_, made_;
};

}  // namespace

Result<Outcome> fold_constants(onnx::Model model) {
  return Folder(std::move(model)).run();
}

}  // namespace calkit::passes
