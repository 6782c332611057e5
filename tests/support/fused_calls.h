#pragma once
// Calls of the operators of calkit.fused with drawn operands, and graphs of one such call.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "calkit/exec/session.h"
#include "calkit/fusion/fusion.h"

namespace calkit::fused {

struct FusedCall {
  std::string label, op;
  std::vector<Tensor> operands;     ///< in the order of the function's inputs
  std::set<std::string> constants;  ///< operands that are initialisers
  std::vector<onnx::Attribute> attributes;
  bool exact = true;  ///< the kernel gives the bits of the function as exec runs it

  const onnx::Function& function() const { return *fusion::kernel_function(op); }
};

/// Numbers that are the same in every run.
class Draw {
 public:
  explicit Draw(DType dtype, unsigned seed = 7) : dtype_(dtype), random_(seed) {}
  DType dtype() const { return dtype_; }

  Tensor floats(Shape shape, float scale = 1) { return floats(dtype_, std::move(shape), scale); }
  Tensor floats(DType dtype, Shape shape, float scale = 1) {
    std::normal_distribution<float> normal(0, scale);
    std::vector<float> values(count(shape));
    for (float& value : values) value = normal(random_);
    return *convert(Tensor::of<float>(std::move(shape), values), dtype);
  }
  Tensor bytes(Shape shape) {
    std::uniform_int_distribution<int> uniform(-127, 127);
    std::vector<std::int8_t> values(count(shape));
    for (auto& value : values) value = static_cast<std::int8_t>(uniform(random_));
    return Tensor::of<std::int8_t>(std::move(shape), values);
  }
  /// Different numbers below `limit` in each row of `k`.
  Tensor choices(std::int64_t rows, std::int64_t k, std::int64_t limit) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(limit)), values;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
    for (std::int64_t row = 0; row < rows; ++row) {
      std::shuffle(all.begin(), all.end(), random_);
      values.insert(values.end(), all.begin(), all.begin() + k);
    }
    return Tensor::of<std::int64_t>({rows, k}, values);
  }
  Tensor scales(Shape shape) {
    std::uniform_real_distribution<float> uniform(0.001f, 0.02f);
    std::vector<float> values(count(shape));
    for (float& value : values) value = uniform(random_);
    return Tensor::of<float>(std::move(shape), values);
  }

 private:
  static std::size_t count(const Shape& shape) {
    std::size_t out = 1;
    for (const std::int64_t extent : shape) out *= static_cast<std::size_t>(extent);
    return out;
  }
  DType dtype_;
  std::mt19937 random_;
};

inline onnx::Model model_of(const FusedCall& call) {
  const onnx::Function& function = call.function();
  onnx::Model model;
  model.ir_version = 10;
  model.opsets = {{"", fusion::kOpset}, {fusion::kDomain, fusion::kDomainVersion}};
  model.functions = {function};
  model.graph.name = call.op;
  onnx::Node node;
  node.name = "call";
  node.op_type = call.op;
  node.domain = fusion::kDomain;
  node.inputs = function.inputs;
  node.outputs = function.outputs;
  node.attributes = call.attributes;
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    const Tensor& operand = call.operands[i];
    const onnx::ElementType type = onnx::from_dtype(operand.dtype());
    if (call.constants.contains(function.inputs[i])) {
      onnx::Initializer constant;
      constant.name = function.inputs[i];
      constant.type = type;
      constant.dims = operand.shape();
      constant.data = operand;
      constant.bytes = operand.bytes();
      model.graph.initializers.push_back(std::move(constant));
      continue;
    }
    onnx::ValueInfo input{function.inputs[i], type, std::vector<onnx::Dim>()};
    for (const std::int64_t extent : operand.shape()) input.shape->push_back(onnx::Dim::of(extent));
    model.graph.inputs.push_back(std::move(input));
  }
  for (const std::string& name : function.outputs) model.graph.outputs.push_back({name, 0, std::nullopt});
  model.graph.nodes = {std::move(node)};
  return model;
}

inline std::map<std::string, Tensor> inputs_of(const FusedCall& call) {
  std::map<std::string, Tensor> inputs;
  for (std::size_t i = 0; i < call.operands.size(); ++i)
    if (!call.constants.contains(call.function().inputs[i]))
      inputs.emplace(call.function().inputs[i], call.operands[i]);
  return inputs;
}

inline Result<std::vector<Tensor>> run(const FusedCall& call, bool expand, int threads = 1) {
  exec::SessionOptions options;
  options.threads = threads;
  options.expand_functions = expand;
  CALKIT_TRY(auto session, exec::Session::create(model_of(call), options));
  return session.run(inputs_of(call), call.function().outputs);
}

/// Calls of every operator, rows and widths of several sizes.
inline std::vector<FusedCall> drawn_calls(DType dtype) {
  Draw draw(dtype);
  std::vector<FusedCall> out;
  const auto add = [&](std::string op, std::vector<Tensor> operands, std::set<std::string> constants = {},
                       std::vector<onnx::Attribute> attributes = {}) {
    std::string label = op;
    for (const Tensor& operand : operands) label += " " + shape_text(operand.shape());
    // Weights that are computed are multiplied as they lie there by the one, by oneDNN after turning them by the other.
    // F16 is widened for the whole of a kernel and rounded once.
    // MatMul adds up one column in another order than rows of weights.
    const bool exact =
        op != "GroupedDense" && (!op.starts_with("Linear") || (constants.contains("w") && dtype != DType::kF16));
    out.push_back(
        {std::move(label), std::move(op), std::move(operands), std::move(constants), std::move(attributes), exact});
  };
  const auto epsilon = onnx::attr("epsilon", 1e-6f);
  for (const Shape& shape : {Shape{1, 64}, Shape{7, 33}, Shape{2, 3, 130}}) {
    add("RmsNorm", {draw.floats(shape), draw.floats({shape.back()})}, {"weight"}, {epsilon});
    for (const std::int64_t n : {1, 24, 77}) {
      Shape product = shape;
      product.back() = n;
      const Tensor x = draw.floats(shape), w = draw.floats({n, shape.back()}, 0.1f);
      for (const std::set<std::string>& constants : {std::set<std::string>{"w", "addend"}, {"w"}, {}}) {
        if (n == 1 && constants.empty()) continue;
        const bool bias = constants.contains("addend");
        const Tensor addend = draw.floats(bias ? Shape{n} : product), residual = draw.floats(product);
        add("LinearAdd", {x, w, addend}, constants);
        add("LinearAddAdd", {x, w, addend, residual}, constants);
        if (!bias) add("Linear", {x, w}, constants);
      }
      add("LinearAdd", {x, w, draw.floats({n})}, {"w"});
    }
  }
  const auto to = onnx::attr("to", static_cast<std::int64_t>(onnx::from_dtype(dtype)));
  for (const Shape& shape : {Shape{1, 64}, Shape{7, 33}, Shape{9, 257}, Shape{2, 3, 130}}) {
    add("QuantizePerToken", {draw.floats(shape)});
    add("RmsNormQuantize", {draw.floats(shape), draw.floats({shape.back()})}, {"weight"}, {epsilon});
    add("SwiGluQuantize", {draw.floats(shape, 3), draw.floats(shape)});
    add("SwiGlu", {draw.floats(shape, 3), draw.floats(shape)});
    Shape column = shape, product = shape;
    column.back() = 1;
    for (const std::int64_t n : {1, 24, 77}) {
      product.back() = n;
      std::vector<Tensor> operands = {draw.bytes(shape), draw.scales(column), draw.bytes({n, shape.back()}),
                                      draw.scales({n})};
      add("QuantizedLinear", operands, {"w", "w_scale"}, {to});
      add("QuantizedLinear", operands, {}, {to});
      operands.push_back(draw.floats({n}));
      add("QuantizedLinearAdd", operands, {"w", "w_scale", "addend"}, {to});
      operands.push_back(draw.floats(product));
      add("QuantizedLinearAddAdd", operands, {"w", "w_scale", "addend"}, {to});
    }
  }
  struct Layer {
    std::int64_t tokens, experts, choices, width, inner;
  };
  for (const Layer& l : {Layer{1, 4, 2, 16, 24}, Layer{7, 8, 3, 33, 10}, Layer{12, 5, 5, 40, 17}}) {
    const auto k = onnx::attr("k", Shape{l.choices});
    const Tensor logits = draw.floats({l.tokens, l.experts}, 2);
    add("RouterTopK", {logits}, {}, {k, to});
    add("RouterTopKScaled", {logits}, {}, {k, to});
    add("Dispatch", {draw.floats({1, l.tokens, l.width})});
    const Tensor chosen = draw.choices(l.tokens, l.choices, l.experts);
    add("GroupedDense",
        {draw.floats({l.experts, l.inner, l.width}, 0.2f), chosen, draw.floats({l.tokens, 1, l.width, 1})}, {"stack"});
    const Tensor back = draw.floats({l.experts, l.width, l.inner}, 0.2f);
    const Tensor columns = draw.floats({l.tokens, l.choices, l.inner, 1});
    add("GroupedDense", {back, chosen, columns}, {"stack"});
    add("GroupedDense", {back, chosen, columns});
    add("CombineAdd", {draw.floats({l.tokens, l.choices, l.width, 1}), draw.floats({l.tokens, l.choices}),
                       draw.floats({1, l.tokens, l.width})});
  }
  for (const std::int64_t best : {1, 5, 40})
    for (const std::int64_t vocabulary : {40, 20000}) {
      const auto k = onnx::attr("k", Shape{best});
      add("LinearTopK", {draw.floats({2, 1, 33}), draw.floats({vocabulary, 33}, 0.2f)}, {"w"}, {k});
      if (vocabulary < 100)
        add("QuantizedLinearTopK",
            {draw.bytes({2, 1, 33}), draw.scales({2, 1, 1}), draw.bytes({vocabulary, 33}), draw.scales({vocabulary})},
            {"w", "w_scale"}, {to, k});
    }
  add("QuantizedLinearTopK", {draw.bytes({3, 8}), draw.scales({3, 1}), draw.bytes({17000, 8}), draw.scales({17000})},
      {"w", "w_scale"}, {to, onnx::attr("k", Shape{9})});
  struct Heads {
    std::int64_t batch, heads, kv_heads, tokens, past, width, value;
  };
  for (const Heads& h : {Heads{1, 1, 1, 1, 0, 8, 8}, Heads{1, 4, 2, 7, 3, 16, 16}, Heads{2, 6, 2, 5, 11, 24, 10},
                         Heads{2, 3, 3, 1, 9, 6, 7}}) {
    const std::int64_t all = h.past + h.tokens;
    for (const std::int64_t causal : {0, 1})
      add("FlashAttention",
          {draw.floats({h.batch, h.heads, h.tokens, h.width}), draw.floats({h.batch, h.kv_heads, all, h.width}),
           draw.floats({h.batch, h.kv_heads, all, h.value})},
          {}, {onnx::attr("scale", 0.3f), onnx::attr("is_causal", causal)});
    std::vector<Tensor> operands = {
        draw.floats({h.batch, h.tokens, h.heads, h.width}), draw.floats({h.batch, h.tokens, h.kv_heads, h.width}),
        draw.floats({h.batch, h.tokens, h.kv_heads, h.value}), draw.floats({h.batch, h.tokens, h.width / 2}),
        draw.floats({h.batch, h.tokens, h.width / 2})};
    add("RopeScatter", operands);
    operands.push_back(draw.floats({h.batch, h.kv_heads, h.past, h.width}));
    operands.push_back(draw.floats({h.batch, h.kv_heads, h.past, h.value}));
    add("RopeScatterPast", operands);
  }
  return out;
}

}  // namespace calkit::fused
