// The experts of a layer: choice, dispatch, grouped products, combination.
#include "rules.h"

namespace calkit::fusion {
namespace {

using onnx::attr;

onnx::Attribute axis(std::int64_t value) {
  return attr("axis", value);
}

class Builder {
 public:
  Builder& add(const char* op, std::vector<std::string> inputs, std::vector<std::string> outputs,
               std::vector<onnx::Attribute> attributes = {}) {
    nodes_.push_back(onnx::make_node(op, std::move(inputs), std::move(outputs), std::move(attributes)));
    return *this;
  }
  Builder& ints(const char* name, std::vector<std::int64_t> values) {
    return add("Constant", {}, {name}, {attr("value_ints", std::move(values))});
  }
  std::vector<onnx::Node> done() { return std::move(nodes_); }

 private:
  std::vector<onnx::Node> nodes_;
};

onnx::Attribute to(const char* ref, std::int64_t type) {
  onnx::Attribute out = attr("to", type);
  out.ref = ref;
  return out;
}

/// As model/graph_experts.cpp builds a layer, and whoever writes it with the same operators.
std::vector<onnx::Node> layer_nodes(bool scaled) {
  Builder b;
  b.add("Reshape", {"x", "=tokens_shape"}, {"tokens"});
  b.ints("column_axes", {1, 3}).add("Unsqueeze", {"tokens", "column_axes"}, {"columns"});
  b.add("Cast", {"logits"}, {"wide_logits"}, {to("", 1)})
      .add("Softmax", {"wide_logits"}, {"probabilities"}, {axis(-1)});
  b.add("TopK", {"probabilities", "=k"}, {"chosen", "experts"}, {axis(-1)});
  if (scaled) {
    b.ints("last_axis", {-1}).add("ReduceSum", {"chosen", "last_axis"}, {"total"}, {attr("keepdims", std::int64_t{1})});
    b.add("Div", {"chosen", "total"}, {"share"});
  }
  b.add("Cast", {scaled ? "share" : "chosen"}, {"weights"}, {to("to", 1)});
  for (const auto& [stack, taken, from, out] :
       {std::tuple{"gate_stack", "gate_taken", "columns", "gate"}, {"up_stack", "up_taken", "columns", "up"}})
    b.add("Gather", {stack, "experts"}, {taken}, {axis(0)}).add("MatMul", {taken, from}, {out});
  b.add("Sigmoid", {"gate"}, {"sigmoid"})
      .add("Mul", {"gate", "sigmoid"}, {"silu"})
      .add("Mul", {"silu", "up"}, {"gated"});
  b.add("Gather", {"down_stack", "experts"}, {"down_taken"}, {axis(0)})
      .add("MatMul", {"down_taken", "gated"}, {"down"});
  b.ints("column", {3}).add("Squeeze", {"down", "column"}, {"answers"});
  b.ints("weight_column", {2}).add("Unsqueeze", {"weights", "weight_column"}, {"factors"});
  b.add("Mul", {"answers", "factors"}, {"weighted"}).ints("choices", {1});
  b.add("ReduceSum", {"weighted", "choices"}, {"sum"}, {attr("keepdims", std::int64_t{0})});
  b.add("Shape", {"x"}, {"extent"}).add("Reshape", {"sum", "extent"}, {"combined"});
  b.add("Add", {"residual", "combined"}, {"y"});
  return b.done();
}

std::string_view check_layer(const Match& match, const View& view) {
  const auto x = view.shape(match.value("x"));
  const auto tokens = view.constant_ints(match.value("=tokens_shape"));
  if (!x || x->empty() || !tokens || tokens->size() != 2 || (*tokens)[0] != -1 ||
      x->back().value != onnx::Dim::of((*tokens)[1]).value)
    return "tokens";
  const auto k = view.constant_ints(match.value("=k"));
  if (!k || k->size() != 1) return "choice";
  const auto* gate = view.initializer(match.value("gate_stack"));
  const auto* up = view.initializer(match.value("up_stack"));
  const auto* down = view.initializer(match.value("down_stack"));
  if (!gate || !up || !down || gate->dims.size() != 3 || up->dims != gate->dims || down->dims.size() != 3 ||
      down->dims[0] != gate->dims[0] || down->dims[1] != gate->dims[2] || down->dims[2] != gate->dims[1])
    return "stacks";
  if ((*k)[0] < 1 || (*k)[0] > gate->dims[0]) return "choice";
  // The sum of a token's answers has to meet the residual element by element.
  return view.same_shape(match.value("x"), match.value("residual")) ? "" : "residual";
}

std::vector<onnx::Node> make_layer(const Match& match, const View& view, bool scaled) {
  const auto value = [&](const char* name) { return match.value(name); };
  std::vector<onnx::Node> out = {call(match, "Dispatch")};
  onnx::Node router = call(match, scaled ? "RouterTopKScaled" : "RouterTopK");
  router.attributes.push_back(attr("k", *view.constant_ints(value("=k"))));
  out.push_back(std::move(router));
  const auto grouped = [&](const char* stack, const char* from, const char* to_value) {
    out.push_back(
        call(match, "GroupedDense", {{"stack", value(stack)}, {"columns", value(from)}, {"y", value(to_value)}}));
  };
  grouped("gate_stack", "columns", "gate");
  grouped("up_stack", "columns", "up");
  out.push_back(call(match, "SwiGlu", {{"y", value("gated")}}));
  grouped("down_stack", "gated", "down");
  out.push_back(call(match, "CombineAdd", {{"answers", value("down")}}));
  return out;
}

Rule expert_rule(bool scaled) {
  Rule out;
  out.pattern = {layer_nodes(scaled), {"y", "tokens"}, {}};
  out.check = check_layer;
  out.make = [scaled](const Match& match, const View& view, Names&) { return make_layer(match, view, scaled); };
  return out;
}

}  // namespace

std::vector<Rule> expert_rules() {
  return {expert_rule(true), expert_rule(false)};
}

}  // namespace calkit::fusion
