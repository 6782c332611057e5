// The elements of small whole-number tensors: shapes, axes and indices on their way to the nodes that need them.
#include <algorithm>

#include "fact.h"

namespace calkit::inventory {
namespace {

using Content = std::vector<Formula>;

/// 1 or 0 where that holds for all symbols, else unknown.
Formula equal(const Formula& a, const Formula& b) {
  if (a == b) return 1;
  const auto differ = (a - b).whole();
  if (differ && *differ != 0) return 0;
  const auto negative = [](const Formula& f) { return f.whole() && *f.whole() < 0; };
  if ((negative(a) && b.never_negative()) || (negative(b) && a.never_negative())) return 0;
  return Formula::unknown();
}

Formula apply(std::string_view op, const Formula& a, const Formula& b) {
  if (op == "Add") return a + b;
  if (op == "Sub") return a - b;
  if (op == "Mul") return a * b;
  if (op == "Div") return a.whole_over(b);
  if (op == "Equal") return equal(a, b);
  const auto x = a.whole(), y = b.whole();
  if (!x || !y) return a == b && (op == "Max" || op == "Min") ? a : Formula::unknown();
  if (op == "Max") return std::max(*x, *y);
  if (op == "Min") return std::min(*x, *y);
  if (op == "Mod" && *x >= 0 && *y > 0) return *x % *y;
  return Formula::unknown();
}

std::optional<Content> pairwise(const Call& call) {
  const Content *a = call.content(0), *b = call.content(1);
  if (!a || !b || call.inputs.size() != 2) return std::nullopt;
  const std::size_t size = a->size() == 1 ? b->size() : a->size();
  if ((a->size() != size && a->size() != 1) || (b->size() != size && b->size() != 1)) return std::nullopt;
  Content out;
  for (std::size_t i = 0; i < size; ++i)
    out.push_back(apply(call.node.op_type, (*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]));
  return out;
}

std::optional<Content> shape(const Call& call) {
  const Dims* dims = call.dims(0);
  if (!dims || dims->size() > kMaxContent) return std::nullopt;
  const auto size = static_cast<std::int64_t>(dims->size());
  const auto place = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size); };
  const std::int64_t start = place(call.node.int_or("start", 0)), end = place(call.node.int_or("end", size));
  return start >= end ? Content{} : Content(dims->begin() + start, dims->begin() + end);
}

std::optional<Content> constant(const onnx::Node& node) {
  if (const auto* value = node.attribute("value"); value && value->tensor) return content_of_tensor(*value->tensor);
  if (const auto* value = node.attribute("value_int")) return Content{value->i};
  if (const auto* value = node.attribute("value_ints"); value && value->ints.size() <= kMaxContent)
    return Content(value->ints.begin(), value->ints.end());
  return std::nullopt;
}

std::optional<Content> filled(const Call& call) {
  const Content* shape = call.content(0);
  if (!shape || shape->size() > 1) return std::nullopt;
  const auto size = shape->empty() ? 1 : shape->front().whole();
  if (!size || *size < 0 || *size > static_cast<std::int64_t>(kMaxContent)) return std::nullopt;
  const auto* value = call.node.attribute("value");
  const auto one = value && value->tensor ? content_of_tensor(*value->tensor) : std::nullopt;
  if (!one || one->size() != 1) return std::nullopt;
  return Content(static_cast<std::size_t>(*size), one->front());
}

std::optional<Content> gather(const Call& call) {
  const Content *data = call.content(0), *indices = call.content(1);
  const Dims* dims = call.dims(0);
  if (!data || !indices || !dims || dims->size() != 1 || call.node.int_or("axis", 0) > 0) return std::nullopt;
  Content out;
  for (const Formula& index : *indices) {
    const auto at = index.whole();
    const auto size = static_cast<std::int64_t>(data->size());
    if (!at || *at < -size || *at >= size) return std::nullopt;
    out.push_back((*data)[static_cast<std::size_t>(*at < 0 ? *at + size : *at)]);
  }
  return out;
}

std::optional<Content> concat(const Call& call) {
  Content out;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Content* part = call.content(i);
    const Dims* dims = call.dims(i);
    if (!part || !dims || dims->size() != 1 || out.size() + part->size() > kMaxContent) return std::nullopt;
    out.insert(out.end(), part->begin(), part->end());
  }
  return out;
}

std::optional<Content> slice(const Call& call) {
  const Content* data = call.content(0);
  const auto starts = call.numbers("starts", 1), ends = call.numbers("ends", 2), steps = call.numbers("", 4);
  const Dims* dims = call.dims(0);
  if (!data || !dims || dims->size() != 1 || !starts || !ends || starts->size() != 1 || ends->size() != 1)
    return std::nullopt;
  if (call.input(4) && (!steps || *steps != std::vector<std::int64_t>{1})) return std::nullopt;
  const auto size = static_cast<std::int64_t>(data->size());
  const auto place = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size); };
  const std::int64_t start = place(starts->front()), end = place(ends->front());
  return start >= end ? Content{} : Content(data->begin() + start, data->begin() + end);
}

std::optional<Content> where(const Call& call) {
  const Content *condition = call.content(0), *yes = call.content(1), *no = call.content(2);
  if (!condition || !yes || !no) return std::nullopt;
  const std::size_t size = std::max({condition->size(), yes->size(), no->size()});
  Content out;
  for (const Content* part : {condition, yes, no})
    if (part->size() != size && part->size() != 1) return std::nullopt;
  for (std::size_t i = 0; i < size; ++i) {
    const auto at = [i](const Content* part) { return (*part)[part->size() == 1 ? 0 : i]; };
    const auto chosen = at(condition).whole();
    out.push_back(chosen ? (*chosen != 0 ? at(yes) : at(no)) : Formula::unknown());
  }
  return out;
}

std::optional<Content> folded(const Call& call) {
  const Content* data = call.content(0);
  if (!data || data->empty() || call.inputs.size() > 1) return std::nullopt;
  Formula out = 1;
  for (const Formula& value : *data) out = out * value;
  return Content{out};
}

}  // namespace

std::optional<std::vector<Formula>> content_of_tensor(const Tensor& tensor) {
  if (tensor.elements() > kMaxContent) return std::nullopt;
  Content out;
  if (tensor.dtype() == DType::kI64)
    for (const std::int64_t value : tensor.data<std::int64_t>()) out.emplace_back(value);
  else if (tensor.dtype() == DType::kI32)
    for (const std::int32_t value : tensor.data<std::int32_t>()) out.emplace_back(value);
  else if (tensor.dtype() == DType::kBool)
    for (const std::uint8_t value : tensor.data<std::uint8_t>()) out.emplace_back(value != 0);
  else
    return std::nullopt;
  return out;
}

std::optional<std::vector<Formula>> content_of(const Call& call) {
  if (!call.node.domain.empty()) return std::nullopt;
  const std::string& op = call.node.op_type;
  if (op == "Constant") return constant(call.node);
  if (op == "Shape") return shape(call);
  if (op == "Gather") return gather(call);
  if (op == "Concat") return concat(call);
  if (op == "Slice") return slice(call);
  if (op == "Where") return where(call);
  if (op == "ConstantOfShape") return filled(call);
  if (op == "ReduceProd") return folded(call);
  if (op == "Identity" || op == "Cast" || op == "Squeeze" || op == "Unsqueeze" || op == "Reshape") {
    const Content* same = call.content(0);
    return same ? std::optional(*same) : std::nullopt;
  }
  for (const char* known : {"Add", "Sub", "Mul", "Div", "Equal", "Max", "Min", "Mod"})
    if (op == known) return pairwise(call);
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> Call::numbers(std::string_view attribute, std::size_t index) const {
  if (const auto* found = attribute.empty() ? nullptr : node.attribute(attribute)) {
    if (found->kind == onnx::Attribute::Kind::kInt) return std::vector{found->i};
    return found->kind == onnx::Attribute::Kind::kInts ? std::optional(found->ints) : std::nullopt;
  }
  const auto* values = content(index);
  if (!values) return std::nullopt;
  std::vector<std::int64_t> out;
  for (const Formula& value : *values) {
    const auto whole = value.whole();
    if (!whole) return std::nullopt;
    out.push_back(*whole);
  }
  return out;
}

}  // namespace calkit::inventory
