#include "call.h"

#include <fmt/format.h>

#include <algorithm>

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

Result<std::int64_t> Call::one_int(std::size_t index) const {
  CALKIT_TRY(const auto values, ints(index));
  if (values.size() != 1) return fault(index, fmt::format("{} numbers", values.size()), "one");
  return values[0];
}

Result<std::optional<std::vector<std::int64_t>>> Call::ints_or_attribute(std::size_t index,
                                                                         std::string_view name) const {
  using Ints = std::optional<std::vector<std::int64_t>>;
  if (optional(index) != nullptr) {
    CALKIT_TRY(auto values, ints(index));
    return Ints(std::move(values));
  }
  const auto* attribute = node.attribute(name);
  return attribute == nullptr ? Ints() : Ints(attribute->ints);
}

std::string Call::text_or(std::string_view name, std::string_view otherwise) const {
  const auto* attribute = node.attribute(name);
  return attribute == nullptr ? std::string(otherwise) : attribute->s;
}

bool Call::names_output(std::size_t index) const {
  return index < node.outputs.size() && !node.outputs[index].empty();
}

Result<std::size_t> normal_axis(const Call& call, std::int64_t axis, std::size_t rank) {
  const auto limit = static_cast<std::int64_t>(rank);
  if (axis < -limit || axis >= limit)
    return call.fault(fmt::format("axis {}", axis), fmt::format("an axis of a tensor of rank {}", rank));
  return static_cast<std::size_t>(axis < 0 ? axis + limit : axis);
}

Result<std::vector<std::size_t>> normal_axes(const Call& call, const std::vector<std::int64_t>& axes,
                                             std::size_t rank) {
  std::vector<std::size_t> out;
  for (const std::int64_t axis : axes) {
    CALKIT_TRY(const std::size_t normal, normal_axis(call, axis, rank));
    out.push_back(normal);
  }
  std::sort(out.begin(), out.end());
  if (std::adjacent_find(out.begin(), out.end()) != out.end()) return call.fault("the same axis twice", "each once");
  return out;
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
