#include "cost.h"

#include <algorithm>

namespace calkit::inventory {
namespace {

Formula elements(const Dims* dims) {
  if (!dims) return Formula::unknown();
  Formula out = 1;
  for (const Formula& extent : *dims) out = out * extent;
  return out;
}

/// Two operations, a product and a sum, for each element of the result and each step along the inner axis.
Formula product_flops(const Fact* result, const Formula& inner) {
  return Formula(2) * (result ? elements_of(result->dims) : Formula::unknown()) * inner;
}

Formula extent(const Dims* dims, std::size_t axis) {
  return dims && axis < dims->size() ? (*dims)[axis] : Formula::unknown();
}

Formula gemm(const Call& call, const Fact* result) {
  const Formula inner = extent(call.dims(0), call.node.int_or("transA", 0) != 0 ? 0 : 1);
  Formula out = product_flops(result, inner);
  if (call.input(2)) out += result ? elements_of(result->dims) : Formula::unknown();
  return out;
}

// The weight is [out, in / groups, kernel...]: each result reads all of it but the first axis.
Formula conv(const Call& call, const Fact* result) {
  const std::size_t at = call.node.op_type == "QLinearConv" ? 3 : 1, bias = at == 1 ? 2 : 8;
  const Dims* weight = call.dims(at);
  if (!weight || weight->size() < 3) return Formula::unknown();
  const Dims inner(weight->begin() + 1, weight->end());
  Formula out = product_flops(result, elements(&inner));
  if (call.node.op_type != "ConvInteger" && call.input(bias)) out += elements_of(result->dims);
  return out;
}

// Each input element is spread over [out / groups, kernel...].
Formula conv_transpose(const Call& call) {
  const Dims* weight = call.dims(1);
  if (!weight || weight->size() < 3) return Formula::unknown();
  const Dims spread(weight->begin() + 1, weight->end());
  return Formula(2) * elements(call.dims(0)) * elements(&spread);
}

// Scores and their sum over V, two operations each, and five for each score of the softmax.
Formula attention(const Call& call) {
  const Dims *q = call.dims(0), *k = call.dims(1), *v = call.dims(2);
  if (!q || !k || !v || q->size() != k->size() || q->size() != v->size()) return Formula::unknown();
  Formula heads, rows = (*q)[q->size() - 2], keys = (*k)[k->size() - 2], q_width = q->back(), v_width = v->back();
  if (q->size() == 4) {
    heads = (*q)[1];
  } else {
    const std::int64_t q_heads = call.node.int_or("q_num_heads", 0), kv_heads = call.node.int_or("kv_num_heads", 0);
    if (q->size() != 3 || q_heads <= 0 || kv_heads <= 0) return Formula::unknown();
    heads = q_heads;
    q_width = q_width.whole_over(q_heads);
    v_width = v_width.whole_over(kv_heads);
  }
  if (call.input(4)) keys = keys + extent(call.dims(4), 2);  // the past
  const Formula scores = q->front() * heads * rows * keys;
  return scores * (Formula(2) * q_width + Formula(2) * v_width + Formula(5));
}

Formula recurrent(const Call& call) {
  const Formula steps = extent(call.dims(0), 0) * extent(call.dims(0), 1);
  const Formula weights = elements(call.dims(1)) + elements(call.dims(2));  // each for all directions
  return Formula(2) * steps * weights;
}

Formula window(const Call& call, const Fact* result) {
  Formula out = result ? elements_of(result->dims) : Formula::unknown();
  const auto* kernel = call.node.attribute("kernel_shape");
  if (!kernel) return Formula::unknown();
  for (const std::int64_t side : kernel->ints) out = out * Formula(side);
  return out;
}

bool computes(const Call& call, const Fact* result) {
  if (call.node.op_type.find("Integer") != std::string::npos || call.node.op_type.starts_with("QLinear")) return true;
  const auto counts = [](const Fact* fact) { return fact && (is_float(fact->type) || fact->type == 0); };
  return counts(call.input(0)) || counts(result);
}

Formula flops(const Call& call, const Operator& op, const Fact* result) {
  if (op.kind == Kind::kView || op.kind == Kind::kMove) return 0;
  if (op.kind == Kind::kOther) return Formula::unknown();
  if (op.kind == Kind::kControl || !computes(call, result)) return 0;
  switch (op.kind) {
    case Kind::kMap:
    case Kind::kLike:
      return Formula(op.cost) * (result ? elements_of(result->dims) : Formula::unknown());
    case Kind::kReduce:
      return Formula(op.cost) * elements(call.dims(0));
    case Kind::kWindow:
      return window(call, result);
    case Kind::kMatMul: {
      const Dims* a = call.dims(0);
      return product_flops(result, a && !a->empty() ? a->back() : Formula::unknown());
    }
    case Kind::kGemm:
      return gemm(call, result);
    case Kind::kConv:
      return conv(call, result);
    case Kind::kConvTranspose:
      return conv_transpose(call);
    case Kind::kAttention:
      return attention(call);
    case Kind::kRecurrent:
      return recurrent(call);
    default:
      return Formula::unknown();
  }
}

/// These read as much of their first input as they write.
bool reads_a_part(const std::string& op) {
  for (const char* name : {"Gather", "GatherElements", "GatherND", "Slice", "Split", "SequenceAt"})
    if (op == name) return true;
  return false;
}

}  // namespace

Formula elements_of(const std::optional<Dims>& dims) {
  return elements(dims ? &*dims : nullptr);
}

Formula bytes_of(onnx::ElementType type, const std::optional<Dims>& dims) {
  const auto of_eight = static_cast<std::int64_t>(onnx::packed_bytes(type, 8));
  return of_eight == 0 ? Formula::unknown() : (elements_of(dims) * Formula(of_eight)).over(8);
}

Cost cost_of(const Call& call, const Operator& op, std::span<const Fact* const> outputs) {
  Cost out;
  const Fact* result = outputs.empty() ? nullptr : outputs.front();
  if (result && result->origin == Origin::kConstant) return out;  // once, before the first call
  out.flops = flops(call, op, result);
  if (op.kind == Kind::kView || op.kind == Kind::kControl) return out;
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (!call.node.outputs[i].empty())
      out.written += outputs[i] ? bytes_of(outputs[i]->type, outputs[i]->dims) : Formula::unknown();
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.node.inputs[i].empty() || !seen.insert(call.node.inputs[i]).second) continue;
    const Fact* fact = call.input(i);
    const bool part = i == 0 && reads_a_part(call.node.op_type);
    const Formula bytes = !fact ? Formula::unknown() : part ? out.written : bytes_of(fact->type, fact->dims);
    (fact && fact->origin == Origin::kConstant ? out.weights : out.read) += bytes;
  }
  return out;
}

}  // namespace calkit::inventory
