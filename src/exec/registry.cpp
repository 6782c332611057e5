#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "call.h"
#include "linear.h"
#include "widen.h"

namespace calkit::exec {
namespace {

const Registry& registry() {
  static const Registry all = [] {
    Registry out;
    register_activations(out);
    register_arithmetic(out);
    register_attention(out);
    register_cast(out);
    register_compare(out);
    register_cumulative(out);
    register_einsum(out);
    register_experts(out);
    register_fill(out);
    register_fused_attention(out);
    register_fused_experts(out);
    register_fused_grouped(out);
    register_fused_head(out);
    register_fused_linear(out);
    register_fused_quantize(out);
    register_fused_quantized_linear(out);
    register_gather(out);
    register_gather_elements(out);
    register_gemm(out);
    register_integer_ops(out);
    register_layer_norm(out);
    register_matmul(out);
    register_norm(out);
    register_pad(out);
    register_quantize(out);
    register_quantized_matmul(out);
    register_rearrange(out);
    register_reduce(out);
    register_rotary(out);
    register_scatter(out);
    register_shape_ops(out);
    register_slice_ops(out);
    register_softmax(out);
    register_split(out);
    register_top_k(out);
    register_unary(out);
    register_variadic(out);
    return out;
  }();
  return all;
}

class PlainKernel : public Kernel {
 public:
  PlainKernel(const onnx::Node& node, const Operator& op, std::int64_t opset) : node_(node), op_(op), opset_(opset) {}
  Status run(std::span<const Tensor* const> inputs, const OutputAllocator& out) override {
    return run_widened(op_, Call{node_, inputs, out, opset_}, {}, op_.run);
  }

 private:
  onnx::Node node_;
  const Operator& op_;
  std::int64_t opset_;
};

class PlainViewKernel : public ViewKernel {
 public:
  PlainViewKernel(const onnx::Node& node, ShapeFunction shape, std::int64_t opset)
      : node_(node), shape_(shape), opset_(opset) {}
  Result<Shape> view_shape(std::span<const Tensor* const> inputs) override {
    const OutputAllocator none;
    return shape_(Call{node_, inputs, none, opset_});
  }
  // Without a session that shares bytes (the emulated device), a view is a copy.
  Status run(std::span<const Tensor* const> inputs, const OutputAllocator& out) override {
    CALKIT_TRY(const Shape shape, view_shape(inputs));
    CALKIT_TRY(Tensor y, out(0, inputs[0]->dtype(), shape));
    if (y.bytes() > 0) std::memmove(y.mutable_raw(), inputs[0]->raw(), y.bytes());
    return {};
  }

 private:
  onnx::Node node_;
  ShapeFunction shape_;
  std::int64_t opset_;
};

bool is_of_kind(const onnx::Attribute& attribute, char kind) {
  using Kind = onnx::Attribute::Kind;
  switch (kind) {
    case 'i':
      return attribute.kind == Kind::kInt;
    case 'f':
      return attribute.kind == Kind::kFloat;
    case 's':
      return attribute.kind == Kind::kString;
    case 't':
      return attribute.kind == Kind::kTensor && attribute.tensor.has_value();
    case 'g':
      return attribute.kind == Kind::kGraph && !attribute.graphs.empty();
    case 'I':
      return attribute.kind == Kind::kInts;
    default:
      return attribute.kind == Kind::kFloats;
  }
}

std::string_view kind_text(char kind) {
  constexpr std::pair<char, std::string_view> kTexts[] = {{'i', "an integer"}, {'f', "a number"}, {'s', "a string"},
                                                          {'t', "a tensor"},   {'g', "a graph"},  {'I', "integers"},
                                                          {'F', "numbers"}};
  for (const auto& [letter, text] : kTexts)
    if (letter == kind) return text;
  return "";
}

// A rule of Operator::attributes, taken apart.
struct AttributeRule {
  std::string_view name;
  char kind = 'i';
  std::int64_t from = 0, below = INT64_MAX;

  explicit AttributeRule(std::string_view text) {
    const auto equals = text.find('=');
    name = text.substr(0, equals);
    kind = text[equals + 1];
    const std::string_view range = text.substr(equals + 2);
    if (range.starts_with("<")) below = std::stoll(std::string(range.substr(1)));
    if (range.starts_with(">=")) from = std::stoll(std::string(range.substr(2)));
  }
};

Status check_attributes(const onnx::Node& node, const Operator& op, std::int64_t opset) {
  for (const auto& attribute : node.attributes) {
    const AttributeRule* known = nullptr;
    std::vector<std::string_view> names;
    std::vector<AttributeRule> rules(op.attributes.begin(), op.attributes.end());
    for (const AttributeRule& rule : rules) {
      if (opset < rule.from || opset >= rule.below) continue;
      names.push_back(rule.name);
      if (rule.name == attribute.name) known = &rule;
    }
    if (known == nullptr)
      return input_error("graph", node_label(node), "attribute '" + attribute.name + "'",
                         names.empty() ? "no attributes" : fmt::format("{}", fmt::join(names, ", ")));
    if (!attribute.ref.empty() || !is_of_kind(attribute, known->kind))
      return input_error("graph", node_label(node), "attribute '" + attribute.name + "' of another kind",
                         std::string(kind_text(known->kind)));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Kernel>> make_kernel(const onnx::Node& node, std::span<const Tensor* const> constants,
                                            const KernelOptions& options) {
  const std::string domain = node.domain == "ai.onnx" ? "" : node.domain;
  const std::int64_t opset = options.opset == 0 ? kNewestOpset : options.opset;
  const auto found = registry().find(domain + ":" + node.op_type);
  if (found == registry().end())
    return Error(ErrorKind::kInput,
                 fmt::format("operator {} (domain {}) is not supported: {}", node.op_type,
                             domain.empty() ? "ai.onnx" : domain, node_label(node)),
                 "see the operators in docs/numerics.md");
  const Operator& op = found->second;
  if (opset < op.since)
    return input_error("graph", node_label(node), fmt::format("{} of ai.onnx version {}", node.op_type, opset),
                       fmt::format("{} or later", op.since));
  if (node.inputs.size() < op.min_inputs || node.inputs.size() > op.max_inputs)
    return input_error("graph", node_label(node), fmt::format("{} inputs", node.inputs.size()),
                       fmt::format("{} to {}", op.min_inputs, op.max_inputs));
  CALKIT_CHECK_OK(check_attributes(node, op, opset));
  if (op.view != nullptr) return std::unique_ptr<Kernel>(new PlainViewKernel(node, op.view, opset));
  if (op.run != nullptr) return std::unique_ptr<Kernel>(new PlainKernel(node, op, opset));
  if (op.types == op.native) return op.factory(node, constants, options);
  return WideningKernel::make(op, node, constants, options);
}

std::vector<std::string> supported_operators() {
  std::vector<std::string> out;
  for (const auto& [name, op] : registry()) out.push_back(name.front() == ':' ? "ai.onnx" + name : name);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<OperatorClaim> operator_claims() {
  std::vector<OperatorClaim> out;
  for (const auto& [name, op] : registry())
    out.push_back({name.front() == ':' ? "ai.onnx" + name : name, op.since, types_text(op.types)});
  for (const char* name : {"ai.onnx:If", "ai.onnx:Loop", "ai.onnx:Scan"})
    out.push_back({name, name == std::string_view("ai.onnx:Scan") ? 9 : kOldestOpset, types_text(kAllTypes)});
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

std::shared_ptr<LinearCache> make_linear_cache() {
  return std::make_shared<LinearCache>();
}

}  // namespace calkit::exec
