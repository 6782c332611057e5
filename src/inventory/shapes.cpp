// Shapes over symbols, for what the standard inference leaves open: it knows no sum of axes, calkit's formulas do.
#include <algorithm>
#include <numeric>

#include "fact.h"

namespace calkit::inventory {
namespace {

std::optional<std::vector<std::size_t>> axes_of(const Call& call, std::size_t input, std::size_t rank) {
  const auto numbers = call.numbers("axes", input);
  if (!numbers) return std::nullopt;
  std::vector<std::size_t> out;
  for (const std::int64_t number : *numbers) {
    const auto axis = axis_of(number, rank);
    if (!axis) return std::nullopt;
    out.push_back(*axis);
  }
  std::sort(out.begin(), out.end());
  return std::adjacent_find(out.begin(), out.end()) == out.end() ? std::optional(out) : std::nullopt;
}

Formula count(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), Formula(1),
                         [](const Formula& a, const Formula& b) { return a * b; });
}

std::optional<Dims> matmul(const Call& call) {
  const Dims *a = call.dims(0), *b = call.dims(call.node.op_type == "QLinearMatMul" ? 3 : 1);
  if (!a || !b || a->size() < 2 || b->size() < 2) return std::nullopt;
  const Dims left(a->begin(), a->end() - 2), right(b->begin(), b->end() - 2);
  auto out = broadcast({&left, &right});
  if (!out) return std::nullopt;
  out->push_back((*a)[a->size() - 2]);
  out->push_back(b->back());
  return out;
}

std::optional<Dims> gemm(const Call& call) {
  const Dims *a = call.dims(0), *b = call.dims(1);
  if (!a || !b || a->size() != 2 || b->size() != 2) return std::nullopt;
  return Dims{(*a)[call.node.int_or("transA", 0) != 0 ? 1 : 0], (*b)[call.node.int_or("transB", 0) != 0 ? 0 : 1]};
}

std::optional<Dims> reshape(const Call& call) {
  std::optional<Dims> out;
  if (const auto* attribute = call.node.attribute("shape"))
    out.emplace(attribute->ints.begin(), attribute->ints.end());
  else if (const auto* content = call.content(1))
    out = *content;
  if (!out || out->size() > kMaxContent) return std::nullopt;
  const Dims* from = call.dims(0);
  std::optional<std::size_t> open;
  Formula others = 1;
  for (std::size_t i = 0; i < out->size(); ++i) {
    Formula& extent = (*out)[i];
    if (extent.is_zero() && call.node.int_or("allowzero", 0) == 0)
      extent = from && i < from->size() ? (*from)[i] : Formula::unknown();
    if (extent.whole() == -1)
      open = i;
    else
      others = others * extent;
  }
  if (open) (*out)[*open] = from ? count(*from).whole_over(others) : Formula::unknown();
  return out;
}

std::optional<Dims> unsqueeze(const Call& call) {
  const Dims* dims = call.dims(0);
  const auto numbers = call.numbers("axes", 1);
  if (!dims || !numbers || dims->size() + numbers->size() > kMaxContent) return std::nullopt;
  const std::size_t rank = dims->size() + numbers->size();
  const auto axes = axes_of(call, 1, rank);
  if (!axes) return std::nullopt;
  Dims out = *dims;
  for (const std::size_t axis : *axes) out.insert(out.begin() + static_cast<std::ptrdiff_t>(axis), Formula(1));
  return out;
}

/// Leaves out the axes, or keeps them as 1. Without axes: all of them.
std::optional<Dims> drop(const Dims& dims, const std::optional<std::vector<std::size_t>>& axes, bool keep) {
  Dims out;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const bool dropped = !axes || std::binary_search(axes->begin(), axes->end(), i);
    if (dropped && keep) out.emplace_back(1);
    if (!dropped) out.push_back(dims[i]);
  }
  return out;
}

std::optional<Dims> squeeze(const Call& call) {
  const Dims* dims = call.dims(0);
  if (!dims) return std::nullopt;
  const bool stated = call.node.attribute("axes") || call.input(1);
  auto axes = axes_of(call, 1, dims->size());
  if (stated && !axes) return std::nullopt;
  if (!stated) {
    axes.emplace();
    for (std::size_t i = 0; i < dims->size(); ++i) {
      if (!(*dims)[i].whole()) return std::nullopt;  // it may be 1
      if ((*dims)[i].whole() == 1) axes->push_back(i);
    }
  }
  return drop(*dims, axes, false);
}

std::optional<Dims> reduce(const Call& call) {
  const Dims* dims = call.dims(0);
  if (!dims) return std::nullopt;
  const std::string& op = call.node.op_type;
  const bool keep = call.node.int_or("keepdims", 1) != 0;
  if (op == "GlobalAveragePool" || op == "GlobalMaxPool") return std::nullopt;
  if (op == "ArgMax" || op == "ArgMin") {
    const auto axis = axis_of(call.node.int_or("axis", 0), dims->size());
    return axis ? drop(*dims, std::vector{*axis}, keep) : std::nullopt;
  }
  const bool stated = call.node.attribute("axes") || call.input(1);
  if (!stated && call.node.int_or("noop_with_empty_axes", 0) != 0) return *dims;
  const auto axes = axes_of(call, 1, dims->size());
  if (stated && (!axes || axes->empty())) return std::nullopt;
  return drop(*dims, stated ? axes : std::nullopt, keep);
}

std::optional<Dims> sized(const Call& call) {  // an axis of input 0 gets the extent that input 1 states
  const Dims* dims = call.dims(0);
  const auto k = call.numbers("k", 1);
  const auto axis = dims ? axis_of(call.node.int_or("axis", -1), dims->size()) : std::nullopt;
  if (!axis) return std::nullopt;
  Dims out = *dims;
  out[*axis] = k && k->size() == 1 ? Formula(k->front()) : Formula::unknown();
  return out;
}

std::optional<Dims> attention(const Call& call, std::size_t output) {
  const Dims *q = call.dims(0), *v = call.dims(2);
  if (output != 0 || !q || !v || q->size() != v->size() || q->size() != 4) return std::nullopt;
  Dims out = *q;
  out.back() = v->back();
  return out;
}

std::optional<Dims> view_shape(const Call& call) {
  const std::string& op = call.node.op_type;
  if (op == "Reshape") return reshape(call);
  if (op == "Unsqueeze") return unsqueeze(call);
  if (op == "Squeeze") return squeeze(call);
  if (op == "Shape") {
    const auto content = content_of(call);
    return Dims{content ? Formula(static_cast<std::int64_t>(content->size())) : Formula::unknown()};
  }
  if (op == "Size") return Dims{};
  const Dims* dims = call.dims(0);
  if ((op == "Identity" || op == "Dropout") && dims) return *dims;
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank) {
  const auto size = static_cast<std::int64_t>(rank);
  if (axis < -size || axis >= size) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + size : axis);
}

// Two different symbols in one place must be equal when the graph runs; the first is taken.
std::optional<Dims> broadcast(const std::vector<const Dims*>& operands) {
  Dims out;
  for (const Dims* dims : operands) {
    if (!dims) return std::nullopt;
    if (dims->size() > out.size()) out.insert(out.begin(), dims->size() - out.size(), Formula(1));
    for (std::size_t i = 0; i < dims->size(); ++i) {
      Formula& have = out[out.size() - dims->size() + i];
      const Formula& next = (*dims)[i];
      if (next.whole() == 1 || have == next) continue;
      const bool fixed = next.whole() && !have.whole();  // a number decides over a symbol, which can only be 1 or it
      if (have.whole() == 1 || fixed)
        have = next;
      else if (!have.known() && next.known())
        have = next.whole() ? next : Formula::unknown();
      else if (!next.known() && !have.whole())
        have = Formula::unknown();
    }
  }
  return out;
}

std::optional<Dims> shape_of(const Call& call, const Operator& op, std::size_t output) {
  const Dims* first = call.dims(0);
  switch (op.kind) {
    case Kind::kView:
      return view_shape(call);
    case Kind::kMove:
      return moved_shape(call, output);
    case Kind::kMap: {
      std::vector<const Dims*> operands;
      for (std::size_t i = 0; i < call.inputs.size(); ++i) operands.push_back(call.dims(i));
      return operands.empty() ? std::nullopt : broadcast(operands);
    }
    case Kind::kLike:
      return first && output == 0 ? std::optional(*first) : std::nullopt;
    case Kind::kReduce:
      return call.node.op_type == "TopK" ? sized(call) : reduce(call);
    case Kind::kMatMul:
      return matmul(call);
    case Kind::kGemm:
      return gemm(call);
    case Kind::kAttention:
      return attention(call, output);
    default:
      return std::nullopt;
  }
}

}  // namespace calkit::inventory
