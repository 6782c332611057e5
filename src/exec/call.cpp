#include "call.h"

#include <fmt/format.h>

namespace calkit::exec {

std::string node_label(const onnx::Node& node) {
  const std::string type = node.domain.empty() ? node.op_type : node.domain + ":" + node.op_type;
  return node.name.empty() ? type : fmt::format("{} '{}'", type, node.name);
}

std::string tensor_text(const Tensor& tensor) {
  return fmt::format("{} {}", dtype_name(tensor.dtype()), shape_text(tensor.shape()));
}

Error Call::fault(std::size_t index, std::string found, std::string allowed) const {
  const std::string name = index < node.inputs.size() ? node.inputs[index] : std::string();
  return input_error("graph", fmt::format("{}: input {} ('{}')", node_label(node), index, name), found, allowed);
}

Error Call::fault(std::string found, std::string allowed) const {
  return input_error("graph", node_label(node), found, allowed);
}

Result<const Tensor*> Call::input(std::size_t index) const {
  const Tensor* tensor = optional(index);
  if (tensor == nullptr) return fault(index, "nothing", "a tensor");
  return tensor;
}

Result<std::vector<std::int64_t>> Call::ints(std::size_t index) const {
  CALKIT_TRY(const Tensor* tensor, input(index));
  if (tensor->dtype() == DType::kI64) {
    const auto values = tensor->data<std::int64_t>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  }
  if (tensor->dtype() == DType::kI32) {
    const auto values = tensor->data<std::int32_t>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  }
  return fault(index, tensor_text(*tensor), "i64 or i32");
}

Result<std::size_t> normal_axis(const Call& call, std::int64_t axis, std::size_t rank) {
  const auto limit = static_cast<std::int64_t>(rank);
  if (axis < -limit || axis >= limit)
    return call.fault(fmt::format("axis {}", axis), fmt::format("an axis of a tensor of rank {}", rank));
  return static_cast<std::size_t>(axis < 0 ? axis + limit : axis);
}

std::size_t extent(const Shape& shape, std::size_t begin, std::size_t end) {
  std::size_t total = 1;
  for (std::size_t axis = begin; axis < end; ++axis) total *= static_cast<std::size_t>(shape[axis]);
  return total;
}

std::vector<std::size_t> strides_of(const Shape& shape) {
  std::vector<std::size_t> strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * static_cast<std::size_t>(shape[axis]);
  return strides;
}

}  // namespace calkit::exec
