#pragma once
/// Operands of MatMul and Gemm as oneDNN takes them, matrix by matrix.
#include <algorithm>
#include <vector>

#include "call.h"
#include "dot.h"

namespace calkit::exec {

/// One operand's matrices as F32: a view for F32, a widened copy of one matrix otherwise.
class Matrices {
 public:
  explicit Matrices(const Tensor& tensor) : tensor_(tensor) {}
  const float* at(std::size_t index, std::size_t elements) {
    if (tensor_.dtype() == DType::kF32) return tensor_.data<float>().data() + index * elements;
    wide_.resize(elements);
    widen(best_isa(), tensor_.data<BF16>().data() + index * elements, wide_.data(), elements);
    return wide_.data();
  }

 private:
  const Tensor& tensor_;
  std::vector<float> wide_;
};

/// Writes matrix `index` of an output of either type.
inline void store(Tensor& y, std::size_t index, const std::vector<float>& sums) {
  if (y.dtype() == DType::kF32)
    std::copy(sums.begin(), sums.end(), y.mutable_data<float>().data() + index * sums.size());
  else
    narrow(best_isa(), sums.data(), y.mutable_data<BF16>().data() + index * sums.size(), sums.size());
}

}  // namespace calkit::exec
