#pragma once
/// Query, key and value of the operators that attend.
#include "attention_core.h"
#include "call.h"

namespace calkit::exec {

struct Operand {
  HeadView view;
  std::size_t heads = 0, tokens = 0;
};

/// [B, heads, tokens, width], or [B, tokens, heads * width] with the number of heads as an attribute; of the type, rank
/// and batch of `like`.
Result<Operand> read_operand(const Call& call, std::size_t index, const char* heads_attribute, const Tensor& like);
/// Operands 0 to 2 fit each other.
Status check_heads(const Call& call, const Operand& q, const Operand& k, const Operand& v);
/// The attribute, or 1 over the root of the width.
float scale_of(const Call& call, std::size_t width);

}  // namespace calkit::exec
