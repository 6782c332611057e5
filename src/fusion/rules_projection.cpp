// RMSNorm, quantisation token by token, and products with constant weights; the head with its choice.
#include "rules.h"

namespace calkit::fusion {
namespace {

using onnx::attr;
using onnx::make_node;

onnx::Node fused(const char* op, std::vector<std::string> inputs, std::vector<std::string> outputs,
                 const std::vector<const char*>& attributes = {}) {
  onnx::Node out = make_node(op, std::move(inputs), std::move(outputs), {}, kDomain);
  const onnx::Function& function = *kernel_function(op);
  for (const onnx::Node& inner : function.nodes)
    for (const onnx::Attribute& attribute : inner.attributes)
      for (const char* name : attributes)
        if (attribute.ref == name && out.attribute(name) == nullptr) {
          out.attributes.push_back(attribute);
          out.attributes.back().name = name;
        }
  return out;
}

bool is_vector(const onnx::Initializer* tensor, std::int64_t extent) {
  return tensor != nullptr && tensor->dims == std::vector<std::int64_t>{extent};
}

std::string_view check_norm(const Match& match, const View& view) {
  const auto x = view.shape(match.value("x"));
  const auto* weight = view.initializer(match.value("weight"));
  if (!x || x->empty() || weight == nullptr || weight->dims.size() != 1) return "norm-weight";
  return x->back().value == onnx::Dim::of(weight->dims[0]).value ? "" : "norm-weight";
}

/// y = weight * (x * (1 / sqrt(mean(x^2) + epsilon))), as exporters before opset 23 spell it; 16-bit types are widened
/// for the norm and rounded before the weight.
enum class Inverse { kReciprocal, kOneOver, kDivision };
Rule spelt_out_norm(Inverse inverse) {
  Rule out;
  auto& nodes = out.pattern.nodes;
  onnx::Attribute type = attr("to", std::int64_t{1});
  nodes = {make_node("Cast", {"x"}, {"wide"}, {type}),
           make_node("Pow", {"wide", "=two"}, {"square"}),
           make_node("Constant", {}, {"last"}, {attr("value_ints", std::vector<std::int64_t>{-1})}),
           make_node("ReduceMean", {"square", "last"}, {"mean"}, {attr("keepdims", std::int64_t{1})}),
           make_node("Add", {"mean", "=epsilon"}, {"sum"}),
           make_node("Sqrt", {"sum"}, {"root"})};
  if (inverse == Inverse::kReciprocal) nodes.push_back(make_node("Reciprocal", {"root"}, {"factor"}));
  if (inverse == Inverse::kOneOver) nodes.push_back(make_node("Div", {"=one", "root"}, {"factor"}));
  nodes.push_back(inverse == Inverse::kDivision ? make_node("Div", {"wide", "root"}, {"normal"})
                                                : make_node("Mul", {"wide", "factor"}, {"normal"}));
  type.ref = "to";
  nodes.push_back(make_node("Cast", {"normal"}, {"narrow"}, {type}));
  nodes.push_back(make_node("Mul", {"narrow", "weight"}, {"y"}));
  out.pattern.outputs = {"y"};
  const auto number = [](const Match& match, const View& view, const char* name) -> std::optional<float> {
    const auto tensor = view.constant(match.value(name));
    if (!tensor || tensor->dtype() != DType::kF32 || tensor->elements() != 1) return std::nullopt;
    return tensor->data<float>()[0];
  };
  out.check = [number, inverse](const Match& match, const View& view) -> std::string_view {
    if (inverse == Inverse::kOneOver && number(match, view, "=one") != 1.0f) return "constants";
    if (number(match, view, "=two") != 2.0f || !number(match, view, "=epsilon")) return "constants";
    return check_norm(match, view);
  };
  out.make = [number](const Match& match, const View& view, Names&) {
    onnx::Node made = call(match, "RmsNorm");
    made.attributes = {attr("epsilon", *number(match, view, "=epsilon"))};
    return std::vector{std::move(made)};
  };
  return out;
}

/// A norm, as all rules before left it, whose result is only quantised.
Rule joined_norm() {
  Rule out;
  out.pattern.nodes = {fused("RmsNorm", {"x", "weight"}, {"normed"}, {"epsilon"}),
                       fused("QuantizePerToken", {"normed"}, {"q", "scale"})};
  out.pattern.outputs = {"q", "scale"};
  out.make = [](const Match& match, const View&, Names&) { return std::vector{call(match, "RmsNormQuantize")}; };
  return out;
}

Rule joined_gate() {
  Rule out;
  out.pattern.nodes = {fused("SwiGlu", {"gate", "up"}, {"product"}),
                       fused("QuantizePerToken", {"product"}, {"q", "scale"})};
  out.pattern.outputs = {"q", "scale"};
  out.make = [](const Match& match, const View&, Names&) { return std::vector{call(match, "SwiGluQuantize")}; };
  return out;
}

/// Weights [N, K] that are constants; a bias [N]; a residual of the product's own shape, so that the product is never
/// spread over more rows.
std::string_view check_linear(const Match& match, const View& view, bool quantized) {
  const auto* w = view.initializer(match.value("w"));
  if (w == nullptr || w->dims.size() != 2) return "weight";
  if (quantized && !is_vector(view.initializer(match.value("w_scale")), w->dims[0])) return "scales";
  if (quantized && w->dims[1] > kLongestSum) return "sums-fit";
  const auto addend = match.values.find("addend");
  if (addend == match.values.end()) return "";
  const bool bias = is_vector(view.initializer(addend->second), w->dims[0]);
  const auto residual = match.values.find("residual");
  if (residual == match.values.end())
    return bias || view.same_shape(addend->second, match.value("plain")) ? "" : "addend";
  return bias && view.same_shape(residual->second, match.value("with_addend")) ? "" : "addend";
}

Rule linear_rule(const char* kernel, bool quantized) {
  return rule_of(kernel,
                 [quantized](const Match& match, const View& view) { return check_linear(match, view, quantized); });
}

Rule head_rule(bool quantized, std::int64_t k) {
  Rule out;
  out.pattern.nodes = {quantized ? fused("QuantizedLinear", {"q", "scale", "w", "w_scale"}, {"y"}, {"to"})
                                 : fused("Linear", {"x", "w"}, {"y"})};
  out.pattern.outputs = {"y"};
  out.check = [k](const Match& match, const View& view) -> std::string_view {
    if (!view.is_output(match.value("y"))) return kElsewhere;
    if (!view.readers(match.value("y")).empty()) return "readers";
    const auto* w = view.initializer(match.value("w"));
    return w != nullptr && w->dims.size() == 2 && k <= w->dims[0] ? "" : "vocabulary";
  };
  out.make = [quantized, k](const Match& match, const View&, Names& names) {
    onnx::Node made = call(match, quantized ? "QuantizedLinearTopK" : "LinearTopK",
                           {{"values", names.fresh("top_values")}, {"ids", names.fresh("top_ids")}});
    made.attributes.push_back(attr("k", std::vector<std::int64_t>{k}));
    return std::vector{std::move(made)};
  };
  return out;
}

}  // namespace

std::vector<Rule> projection_rules() {
  std::vector<Rule> out = {rule_of("RmsNorm", check_norm)};
  for (const Inverse inverse : {Inverse::kReciprocal, Inverse::kOneOver, Inverse::kDivision})
    out.push_back(spelt_out_norm(inverse));
  out.push_back(rule_of("QuantizePerToken"));
  for (const char* kernel : {"QuantizedLinearAddAdd", "QuantizedLinearAdd", "QuantizedLinear"})
    out.push_back(linear_rule(kernel, true));
  for (const char* kernel : {"LinearAddAdd", "LinearAdd", "Linear"}) out.push_back(linear_rule(kernel, false));
  out.push_back(joined_norm());
  return out;
}

std::vector<Rule> gate_rules() {
  return {rule_of("SwiGlu"), joined_gate()};
}

std::vector<Rule> head_rules(std::int64_t top_k) {
  return {head_rule(true, top_k), head_rule(false, top_k)};
}

}  // namespace calkit::fusion
