#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "call.h"
#include "linear.h"

namespace calkit::exec {
namespace {

const Registry& registry() {
  static const Registry all = [] {
    Registry out;
    register_attention(out);
    register_cast(out);
    register_compare(out);
    register_elementwise(out);
    register_experts(out);
    register_gather(out);
    register_matmul(out);
    register_norm(out);
    register_reduce(out);
    register_rotary(out);
    register_scatter(out);
    register_shape_ops(out);
    register_slice_ops(out);
    return out;
  }();
  return all;
}

class PlainKernel : public Kernel {
 public:
  PlainKernel(const onnx::Node& node, RunFunction function) : node_(node), run_(function) {}
  Status run(std::span<const Tensor* const> inputs, const OutputAllocator& out) override {
    return run_(Call{node_, inputs, out});
  }

 private:
  onnx::Node node_;
  RunFunction run_;
};

class PlainViewKernel : public ViewKernel {
 public:
  PlainViewKernel(const onnx::Node& node, ShapeFunction shape) : node_(node), shape_(shape) {}
  Result<Shape> view_shape(std::span<const Tensor* const> inputs) override {
    const OutputAllocator none;
    return shape_(Call{node_, inputs, none});
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
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_kernel(const onnx::Node& node, std::span<const Tensor* const> constants,
                                            const KernelOptions& options) {
  const std::string domain = node.domain == "ai.onnx" ? "" : node.domain;
  const auto found = registry().find(domain + ":" + node.op_type);
  if (found == registry().end())
    return Error(ErrorKind::kInput,
                 fmt::format("operator {} (domain {}) is not supported: {}", node.op_type,
                             domain.empty() ? "ai.onnx" : domain, node_label(node)),
                 "see the operators in docs/numerics.md");
  const Operator& op = found->second;
  if (node.inputs.size() < op.min_inputs || node.inputs.size() > op.max_inputs)
    return input_error("graph", node_label(node), fmt::format("{} inputs", node.inputs.size()),
                       fmt::format("{} to {}", op.min_inputs, op.max_inputs));
  for (const auto& attribute : node.attributes)
    if (std::find(op.attributes.begin(), op.attributes.end(), attribute.name) == op.attributes.end())
      return input_error("graph", node_label(node), "attribute '" + attribute.name + "'",
                         op.attributes.empty() ? "no attributes" : fmt::format("{}", fmt::join(op.attributes, ", ")));
  if (op.factory != nullptr) return op.factory(node, constants, options);
  if (op.view != nullptr) return std::unique_ptr<Kernel>(new PlainViewKernel(node, op.view));
  return std::unique_ptr<Kernel>(new PlainKernel(node, op.run));
}

std::vector<std::string> supported_operators() {
  std::vector<std::string> out;
  for (const auto& [name, op] : registry()) out.push_back(name.front() == ':' ? "ai.onnx" + name : name);
  std::sort(out.begin(), out.end());
  return out;
}

std::shared_ptr<LinearCache> make_linear_cache() {
  return std::make_shared<LinearCache>();
}

}  // namespace calkit::exec
