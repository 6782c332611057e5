#include "attention_operands.h"

#include <fmt/format.h>

#include <cmath>

namespace calkit::exec {

Result<Operand> read_operand(const Call& call, std::size_t index, const char* heads_attribute, const Tensor& like) {
  CALKIT_TRY(const Tensor* tensor, call.input(index));
  if (tensor->dtype() != DType::kF32 && tensor->dtype() != DType::kBF16)
    return call.fault(index, tensor_text(*tensor), "f32 or bf16");
  if (tensor->rank() != 3 && tensor->rank() != 4) return call.fault(index, tensor_text(*tensor), "rank 3 or 4");
  if (tensor->dtype() != like.dtype() || tensor->rank() != like.rank() || tensor->dim(0) != like.dim(0))
    return call.fault(index, tensor_text(*tensor), "the type, rank and batch of " + tensor_text(like));
  Operand out;
  if (tensor->rank() == 4) {
    out.heads = static_cast<std::size_t>(tensor->dim(1));
    out.tokens = static_cast<std::size_t>(tensor->dim(2));
    out.view = HeadView::of_heads(*tensor);
    return out;
  }
  const std::int64_t heads = call.node.int_or(heads_attribute, 0);
  if (heads <= 0 || tensor->dim(2) % heads != 0)
    return call.fault(fmt::format("{} {}", heads_attribute, heads), fmt::format("a divisor of {}", tensor->dim(2)));
  out.heads = static_cast<std::size_t>(heads);
  out.tokens = static_cast<std::size_t>(tensor->dim(1));
  out.view = HeadView::of_merged(*tensor, out.heads);
  return out;
}

Status check_heads(const Call& call, const Operand& q, const Operand& k, const Operand& v) {
  if (k.heads == 0 || q.heads % k.heads != 0)
    return call.fault(1, fmt::format("{} heads", k.heads), fmt::format("a divisor of the {} query heads", q.heads));
  if (v.heads != k.heads || v.tokens != k.tokens)
    return call.fault(2, fmt::format("{} heads, {} tokens", v.heads, v.tokens),
                      fmt::format("{} heads, {} tokens as K has", k.heads, k.tokens));
  if (k.view.width != q.view.width)
    return call.fault(1, fmt::format("head size {}", k.view.width), fmt::format("{} as Q has", q.view.width));
  return {};
}

float scale_of(const Call& call, std::size_t width) {
  return call.node.float_or("scale", static_cast<float>(1.0 / std::sqrt(static_cast<double>(width))));
}

}  // namespace calkit::exec
