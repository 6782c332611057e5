#pragma once
/// What MatMul and its relatives share: batch axes that broadcast, and products in types that oneDNN does not have.
#include <utility>
#include <vector>

#include "call.h"

namespace calkit::exec {

constexpr Types kExactTypes = kTypeF64 | kTypeI64 | kTypeU64;
constexpr Types kProductTypes = kFloatTypes | kTypeI32 | kTypeI64 | type_bit(DType::kU32) | kTypeU64;

struct MatMulShape {
  Shape shape;                                             ///< of the result
  std::size_t rows = 0, columns = 0, inner = 0;            ///< of each matrix
  std::vector<std::pair<std::size_t, std::size_t>> pairs;  ///< for each result matrix: which of a, which of b
};
/// kInput for operands that do not fit. An operand of rank 1 is a row (a) or a column (b).
Result<MatMulShape> matmul_shape(const Call& call, const Tensor& a, const Tensor& b);

/// a times b, both of the same of kExactTypes, one sum at a time; integers wrap.
Status exact_matmul(const Call& call, const Tensor& a, const Tensor& b);

}  // namespace calkit::exec
