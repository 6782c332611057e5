#include <map>
#include <utility>

#include "calkit/fusion/fusion.h"

namespace calkit::fusion {
namespace {

using onnx::attr;
using Names = std::vector<std::string>;
using Attributes = std::vector<onnx::Attribute>;
using Kind = onnx::Attribute::Kind;

constexpr std::int64_t kFloat = 1, kInt8 = 3;

onnx::Attribute number(const char* name, std::int64_t value) {
  return attr(name, value);
}
onnx::Attribute list(const char* name, std::vector<std::int64_t> values) {
  return attr(name, std::move(values));
}
/// The attribute `of` of the call.
onnx::Attribute given(const char* name, Kind kind, const char* of) {
  onnx::Attribute out;
  out.name = name;
  out.kind = kind;
  out.ref = of;
  return out;
}

/// One function, node by node; values are named by who writes it.
class Body {
 public:
  Body(const char* name, Names inputs, Names outputs, Names attributes = {}) {
    made_.domain = kDomain;
    made_.name = name;
    made_.inputs = std::move(inputs);
    made_.outputs = std::move(outputs);
    made_.attribute_names = std::move(attributes);
    made_.opsets[""] = kOpset;
  }
  Body& node(const char* op, Names inputs, Names outputs, Attributes attributes = {}) {
    made_.nodes.push_back(onnx::make_node(op, std::move(inputs), std::move(outputs), std::move(attributes)));
    return *this;
  }
  Body& ints(const char* name, std::vector<std::int64_t> values) {
    return node("Constant", {}, {name}, {list("value_ints", std::move(values))});
  }
  Body& scalar(const char* name, float value) { return node("Constant", {}, {name}, {attr("value_float", value)}); }
  Body& cast(const char* from, const char* to, std::int64_t type) {
    return node("Cast", {from}, {to}, {number("to", type)});
  }

  // Parts that several functions have.
  Body& rms_norm(const char* to) {
    return node("RMSNormalization", {"x", "weight"}, {to},
                {number("axis", -1), given("epsilon", Kind::kFloat, "epsilon"), number("stash_type", 1)});
  }
  /// A scale for each token, the largest magnitude at 127; a token of zeros has the smallest scale, not 0.
  Body& quantize(const char* from) {
    cast(from, "wide", kFloat).node("Abs", {"wide"}, {"magnitude"}).ints("last_axis", {-1});
    node("ReduceMax", {"magnitude", "last_axis"}, {"largest"}, {number("keepdims", 1)});
    scalar("levels", 127.0f).node("Div", {"largest", "levels"}, {"step"});
    scalar("smallest", 1e-30f).node("Max", {"step", "smallest"}, {"scale"});
    return node("Div", {"wide", "scale"}, {"ratio"}).node("Round", {"ratio"}, {"whole"}).cast("whole", "q", kInt8);
  }
  Body& product(const char* to) {
    return node("Transpose", {"w"}, {"w_turned"}, {list("perm", {1, 0})}).node("MatMul", {"x", "w_turned"}, {to});
  }
  Body& quantized_product(const char* to) {
    node("Transpose", {"w"}, {"w_turned"}, {list("perm", {1, 0})});
    node("MatMulInteger", {"q", "w_turned"}, {"sums"}).cast("sums", "wide_sums", kFloat);
    node("Mul", {"wide_sums", "scale"}, {"by_token"}).node("Mul", {"by_token", "w_scale"}, {"wide_product"});
    return node("Cast", {"wide_product"}, {to}, {given("to", Kind::kInt, "to")});
  }
  Body& gated(const char* to) {
    return node("Sigmoid", {"gate"}, {"sigmoid"})
        .node("Mul", {"gate", "sigmoid"}, {"silu"})
        .node("Mul", {"silu", "up"}, {to});
  }
  Body& heads_first(const char* from, const char* to) {
    return node("Transpose", {from}, {to}, {list("perm", {0, 2, 1, 3})});
  }
  Body& rotate(const char* from, const char* to) { return node("RotaryEmbedding", {from, "cos", "sin"}, {to}); }
  Body& top_k(const char* from, const char* values, const char* indices) {
    node("Constant", {}, {"count"}, {given("value_ints", Kind::kInts, "k")});
    return node("TopK", {from, "count"}, {values, indices}, {number("axis", -1)});
  }

  /// The k largest logits; ranked in F32, because TopK of opset 23 takes no BF16.
  Body& best_tokens() { return cast("logits", "wide_logits", kFloat).top_k("wide_logits", "best", "ids"); }

  onnx::Function done() { return std::move(made_); }

 private:
  onnx::Function made_;
};

onnx::Function flash_attention() {
  return Body("FlashAttention", {"query", "key", "value"}, {"y"}, {"scale", "is_causal"})
      .node("Attention", {"query", "key", "value"}, {"mixed"},
            {given("scale", Kind::kFloat, "scale"), given("is_causal", Kind::kInt, "is_causal")})
      .heads_first("mixed", "tokens_first")
      .ints("merged", {0, 0, -1})
      .node("Reshape", {"tokens_first", "merged"}, {"y"})
      .done();
}

onnx::Function rope_scatter(bool past) {
  Names inputs = {"query", "key", "value", "cos", "sin"};
  if (past) inputs.insert(inputs.end(), {"past_key", "past_value"});
  Body body(past ? "RopeScatterPast" : "RopeScatter", inputs, {"rotated", "present_key", "present_value"});
  body.heads_first("query", "query_heads").rotate("query_heads", "rotated").heads_first("key", "key_heads");
  if (!past) return body.rotate("key_heads", "present_key").heads_first("value", "present_value").done();
  body.rotate("key_heads", "new_key").heads_first("value", "new_value");
  body.node("Concat", {"past_key", "new_key"}, {"present_key"}, {number("axis", 2)});
  return body.node("Concat", {"past_value", "new_value"}, {"present_value"}, {number("axis", 2)}).done();
}

onnx::Function router(bool scaled) {
  Body body(scaled ? "RouterTopKScaled" : "RouterTopK", {"logits"}, {"weights", "experts"}, {"k", "to"});
  body.cast("logits", "wide", kFloat).node("Softmax", {"wide"}, {"probabilities"}, {number("axis", -1)});
  body.top_k("probabilities", "chosen", "experts");
  if (scaled)
    body.ints("last_axis", {-1})
        .node("ReduceSum", {"chosen", "last_axis"}, {"total"})
        .node("Div", {"chosen", "total"}, {"share"});
  return body.node("Cast", {scaled ? "share" : "chosen"}, {"weights"}, {given("to", Kind::kInt, "to")}).done();
}

onnx::Function dispatch() {
  return Body("Dispatch", {"x"}, {"tokens", "columns"})
      .ints("any", {-1})
      .node("Shape", {"x"}, {"width"}, {number("start", -1)})
      .node("Concat", {"any", "width"}, {"extent"}, {number("axis", 0)})
      .node("Reshape", {"x", "extent"}, {"tokens"})
      .ints("axes", {1, 3})
      .node("Unsqueeze", {"tokens", "axes"}, {"columns"})
      .done();
}

onnx::Function combine() {
  return Body("CombineAdd", {"answers", "weights", "residual"}, {"y"})
      .ints("column", {3})
      .node("Squeeze", {"answers", "column"}, {"rows"})
      .ints("weight_column", {2})
      .node("Unsqueeze", {"weights", "weight_column"}, {"factors"})
      .node("Mul", {"rows", "factors"}, {"weighted"})
      .ints("choices", {1})
      .node("ReduceSum", {"weighted", "choices"}, {"sum"}, {number("keepdims", 0)})
      .node("Shape", {"residual"}, {"extent"})
      .node("Reshape", {"sum", "extent"}, {"combined"})
      .node("Add", {"residual", "combined"}, {"y"})
      .done();
}

/// Linear, LinearAdd (a bias or a residual) and LinearAddAdd (both), and the same of quantised operands.
onnx::Function linear(bool quantized, int addends) {
  static constexpr const char* kNames[2][3] = {{"Linear", "LinearAdd", "LinearAddAdd"},
                                               {"QuantizedLinear", "QuantizedLinearAdd", "QuantizedLinearAddAdd"}};
  Names inputs = quantized ? Names{"q", "scale", "w", "w_scale"} : Names{"x", "w"};
  if (addends > 0) inputs.emplace_back("addend");
  if (addends > 1) inputs.emplace_back("residual");
  Body body(kNames[quantized][addends], std::move(inputs), {"y"}, quantized ? Names{"to"} : Names{});
  const char* to = addends > 0 ? "plain" : "y";
  quantized ? body.quantized_product(to) : body.product(to);
  if (addends > 0) body.node("Add", {"plain", "addend"}, {addends > 1 ? "with_addend" : "y"});
  if (addends > 1) body.node("Add", {"residual", "with_addend"}, {"y"});
  return body.done();
}

std::vector<onnx::Function> make_functions() {
  std::vector<onnx::Function> out;
  out.push_back(Body("RmsNorm", {"x", "weight"}, {"y"}, {"epsilon"}).rms_norm("y").done());
  out.push_back(Body("RmsNormQuantize", {"x", "weight"}, {"q", "scale"}, {"epsilon"})
                    .rms_norm("normed")
                    .quantize("normed")
                    .done());
  out.push_back(Body("QuantizePerToken", {"x"}, {"q", "scale"}).quantize("x").done());
  for (const bool quantized : {false, true})
    for (int addends = 0; addends < 3; ++addends) out.push_back(linear(quantized, addends));
  out.push_back(rope_scatter(false));
  out.push_back(rope_scatter(true));
  out.push_back(flash_attention());
  out.push_back(Body("SwiGlu", {"gate", "up"}, {"y"}).gated("y").done());
  out.push_back(Body("SwiGluQuantize", {"gate", "up"}, {"q", "scale"}).gated("product").quantize("product").done());
  out.push_back(dispatch());
  out.push_back(router(false));
  out.push_back(router(true));
  out.push_back(Body("GroupedDense", {"stack", "experts", "columns"}, {"y"})
                    .node("Gather", {"stack", "experts"}, {"taken"}, {number("axis", 0)})
                    .node("MatMul", {"taken", "columns"}, {"y"})
                    .done());
  out.push_back(combine());
  out.push_back(Body("LinearTopK", {"x", "w"}, {"values", "ids"}, {"k"})
                    .product("logits")
                    .best_tokens()
                    .node("CastLike", {"best", "x"}, {"values"})
                    .done());
  out.push_back(Body("QuantizedLinearTopK", {"q", "scale", "w", "w_scale"}, {"values", "ids"}, {"to", "k"})
                    .quantized_product("logits")
                    .best_tokens()
                    .node("Cast", {"best"}, {"values"}, {given("to", Kind::kInt, "to")})
                    .done());
  return out;
}

}  // namespace

const std::vector<onnx::Function>& kernel_functions() {
  static const std::vector<onnx::Function> functions = make_functions();
  return functions;
}

const onnx::Function* kernel_function(std::string_view name) {
  for (const onnx::Function& function : kernel_functions())
    if (function.name == name) return &function;
  return nullptr;
}

std::string_view kernel_group(std::string_view name) {
  static const std::map<std::string_view, std::string_view> kGroups = {
      {"FlashAttention", "flash attention"},
      {"GroupedDense", "grouped MoE dense"},
      {"RmsNorm", "fused RMSNorm"},
      {"RmsNormQuantize", "fused RMSNorm"},
      {"Linear", "fused matmul/add"},
      {"LinearAdd", "fused matmul/add"},
      {"LinearAddAdd", "fused matmul/add"},
      {"QuantizedLinear", "quantised fused matmul/add"},
      {"QuantizedLinearAdd", "quantised fused matmul/add"},
      {"QuantizedLinearAddAdd", "quantised fused matmul/add"},
  };
  const auto found = kGroups.find(name);
  return found == kGroups.end() ? "" : found->second;
}

}  // namespace calkit::fusion
