// Projections in W8A8, written out in standard operators as the functions of the domain have them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rules.h"

namespace calkit::fusion {
namespace {

constexpr onnx::ElementType kFloat = 1, kInt8 = 3;

/// A function's nodes in the place of a call. Constants become initialisers that all places share.
class Inliner {
 public:
  explicit Inliner(onnx::Graph& graph) : graph_(graph) {}

  /// @param known the function's inputs, outputs and other values whose names are given. @param to its attribute `to`.
  void put(std::string_view kernel, std::map<std::string, std::string> known, const std::string& prefix,
           onnx::ElementType from, onnx::ElementType to) {
    const auto& nodes = kernel_function(kernel)->nodes;
    for (const onnx::Node& node : nodes)
      if (is_idle_cast(node, from, to)) skip(node, known);
    for (onnx::Node node : nodes) {
      if (is_idle_cast(node, from, to)) continue;
      if (node.op_type == "Constant") {
        known[node.outputs[0]] = constant(node);
        continue;
      }
      for (onnx::Attribute& attribute : node.attributes)
        if (attribute.ref == "to") attribute = onnx::attr("to", std::int64_t{to});
      for (auto* names : {&node.inputs, &node.outputs})
        for (std::string& name : *names) name = known.try_emplace(name, prefix + name).first->second;
      node.name = node.outputs[0];
      graph_.nodes.push_back(std::move(node));
    }
  }

 private:
  /// A Cast of F32 to F32: the operand of a quantisation, the product of a projection.
  static bool is_idle_cast(const onnx::Node& node, onnx::ElementType from, onnx::ElementType to) {
    if (node.op_type != "Cast") return false;
    const onnx::Attribute& target = node.attributes.front();
    return target.ref.empty() ? node.inputs[0] == "x" && from == kFloat : to == kFloat;
  }
  /// What it would have made is what it reads, or what it reads is made under the name of its result.
  void skip(const onnx::Node& cast, std::map<std::string, std::string>& known) {
    if (known.contains(cast.inputs[0])) {
      known[cast.outputs[0]] = known[cast.inputs[0]];
      return;
    }
    known[cast.inputs[0]] = known.at(cast.outputs[0]);
  }
  std::string constant(const onnx::Node& node) {
    const onnx::Attribute& value = node.attributes.front();
    const std::string name = "calkit.w8a8." + node.outputs[0];
    if (!made_.insert(name).second) return name;
    const bool ints = value.kind == onnx::Attribute::Kind::kInts;
    graph_.initializers.push_back(
        onnx::make_initializer(name, ints ? Tensor::of({static_cast<std::int64_t>(value.ints.size())}, value.ints)
                                          : Tensor::of<float>({}, {value.f})));
    return name;
  }

  onnx::Graph& graph_;
  std::set<std::string> made_;
};

/// Rows of a weight as int8 and their scales; both without data where the weight has none.
struct QuantizedRows {
  onnx::Initializer weight, scale;
};
Result<QuantizedRows> quantize_rows(const onnx::Initializer& from) {
  QuantizedRows out;
  out.weight.name = from.name + ".int8";
  out.weight.type = kInt8;
  out.weight.dims = from.dims;
  out.weight.bytes = from.bytes / static_cast<std::uint64_t>(onnx::packed_bytes(from.type, 1));
  out.scale.name = from.name + ".scale";
  out.scale.type = kFloat;
  out.scale.dims = {from.dims[0]};
  out.scale.bytes = static_cast<std::uint64_t>(from.dims[0]) * sizeof(float);
  if (!from.data) return out;
  CALKIT_TRY(Tensor weight, Tensor::zeros(DType::kI8, from.dims), from.name);
  CALKIT_TRY(Tensor scale, Tensor::zeros(DType::kF32, {from.dims[0]}), from.name);
  CALKIT_TRY(const Tensor wide, convert(*from.data, DType::kF32), from.name);
  const auto values = wide.data<float>();
  const auto width = static_cast<std::size_t>(from.dims[1]);
  auto* to = reinterpret_cast<std::int8_t*>(weight.mutable_raw());
  for (std::size_t row = 0; row < static_cast<std::size_t>(from.dims[0]); ++row) {
    const auto line = values.subspan(row * width, width);
    float largest = 0;
    for (const float value : line) {
      if (!std::isfinite(value))
        return input_error("graph", "initializer '" + from.name + "'", fmt::format("{} in row {}", value, row),
                           "finite numbers");
      largest = std::max(largest, std::abs(value));
    }
    const float step = std::max(largest / 127.0f, 1e-30f);
    scale.mutable_data<float>()[row] = step;
    for (std::size_t i = 0; i < width; ++i)
      to[row * width + i] = static_cast<std::int8_t>(std::nearbyint(line[i] / step));
  }
  out.weight.data = std::move(weight);
  out.scale.data = std::move(scale);
  return out;
}

/// The product of a value by the weights of experts' router: its logits are what a TopK chooses from.
bool feeds_choice(const View& view, const std::string& value, int steps = 4) {
  for (const std::size_t reader : view.readers(value)) {
    const onnx::Node& node = view.graph().nodes[reader];
    if (node.op_type == "TopK") return true;
    if (steps > 0 && !node.outputs.empty() &&
        (node.op_type == "Softmax" || node.op_type == "Cast" || node.op_type == "Sigmoid") &&
        feeds_choice(view, node.outputs[0], steps - 1))
      return true;
  }
  return false;
}

struct Projection {
  std::string x, weight, y;
};

std::string_view refusal(const Match& found, const View& view) {
  if (!found.failed.empty()) return found.failed;
  const auto* weight = view.initializer(found.value("w"));
  if (weight == nullptr || weight->dims.size() != 2 || !weight->pieces.empty() ||
      (weight->type != 1 && weight->type != 10 && weight->type != 16))
    return "weight";
  if (weight->dims[1] > kLongestSum) return "sums-fit";
  return feeds_choice(view, found.value("y")) ? "router" : "";
}

}  // namespace

Result<Quantized> quantize_projections(onnx::Model model) {
  Quantized out;
  std::vector<Projection> sites;
  std::map<std::string, onnx::ElementType> types;
  std::set<std::size_t> gone;
  {
    const View view(model.graph);
    const Pattern pattern = pattern_of(*kernel_function("Linear"));
    for (std::size_t i = 0; i < model.graph.nodes.size(); ++i) {
      const auto found = match(pattern, view, i);
      if (!found) continue;
      if (const auto reason = refusal(*found, view); !reason.empty()) {
        out.refused.push_back({model.graph.nodes[i].name, reason});
        continue;
      }
      sites.push_back({found->value("x"), found->value("w"), found->value("y")});
      types[found->value("x")] = view.initializer(found->value("w"))->type;
      gone.insert(found->gone.begin(), found->gone.end());
    }
  }
  std::size_t at = 0;
  std::erase_if(model.graph.nodes, [&](const onnx::Node&) { return gone.contains(at++); });
  Inliner inliner(model.graph);
  std::set<std::string> tokens, weights;
  for (const Projection& site : sites) {
    const std::string prefix = site.x + "/w8a8/";
    if (tokens.insert(site.x).second)
      inliner.put("QuantizePerToken", {{"x", site.x}, {"q", prefix + "q"}, {"scale", prefix + "scale"}}, prefix,
                  types[site.x], kFloat);
    if (weights.insert(site.weight).second) {
      CALKIT_TRY(QuantizedRows rows, quantize_rows(*model.graph.initializer(site.weight)));
      model.graph.initializers.push_back(std::move(rows.weight));
      model.graph.initializers.push_back(std::move(rows.scale));
    }
    inliner.put("QuantizedLinear",
                {{"q", prefix + "q"},
                 {"scale", prefix + "scale"},
                 {"w", site.weight + ".int8"},
                 {"w_scale", site.weight + ".scale"},
                 {"y", site.y}},
                site.y + "/w8a8/", types[site.x], types[site.x]);
  }
  out.projections = sites.size();
  out.tokens_quantized = tokens.size();
  out.model = std::move(model);
  return out;
}

}  // namespace calkit::fusion
