#include "matmul_shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/checked.h"

namespace calkit::exec {
namespace {

constexpr std::uint64_t kMaxBatches = 1u << 28;

Status broadcast_batches(const Call& call, const Tensor& a, const Shape& a_batch, const Shape& b_batch,
                         MatMulShape& out) {
  const std::size_t rank = std::max(a_batch.size(), b_batch.size());
  Shape a_full(rank - a_batch.size(), 1), b_full(rank - b_batch.size(), 1);
  a_full.insert(a_full.end(), a_batch.begin(), a_batch.end());
  b_full.insert(b_full.end(), b_batch.begin(), b_batch.end());
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (a_full[axis] != b_full[axis] && a_full[axis] != 1 && b_full[axis] != 1)
      return call.fault(1, shape_text(b_batch), fmt::format("batch axes that fit {}", shape_text(a.shape())));
    out.shape.push_back(a_full[axis] == 1 ? b_full[axis] : a_full[axis]);
  }
  const auto a_strides = strides_of(a_full), b_strides = strides_of(b_full);
  const auto total = checked_product(out.shape);
  if (!total || *total > kMaxBatches)
    return call.fault(shape_text(out.shape) + " matrices", fmt::format("at most {}", kMaxBatches));
  for (std::size_t index = 0; index < *total; ++index) {
    std::size_t rest = index, in_a = 0, in_b = 0;
    for (std::size_t axis = rank; axis-- > 0;) {
      const std::size_t at = rest % static_cast<std::size_t>(out.shape[axis]);
      rest /= static_cast<std::size_t>(out.shape[axis]);
      if (a_full[axis] != 1) in_a += at * a_strides[axis];
      if (b_full[axis] != 1) in_b += at * b_strides[axis];
    }
    out.pairs.emplace_back(in_a, in_b);
  }
  return {};
}

template <class T>
void multiply(const MatMulShape& plan, const Tensor& a, const Tensor& b, Tensor& y) {
  const T *left = a.data<T>().data(), *right = b.data<T>().data();
  T* to = y.mutable_data<T>().data();
  for (const auto& [in_a, in_b] : plan.pairs) {
    const T *p = left + in_a * plan.rows * plan.inner, *q = right + in_b * plan.inner * plan.columns;
    for (std::size_t i = 0; i < plan.rows; ++i)
      for (std::size_t j = 0; j < plan.columns; ++j) {
        T sum = 0;
        for (std::size_t l = 0; l < plan.inner; ++l) {
          if constexpr (std::is_floating_point_v<T>)
            sum += p[i * plan.inner + l] * q[l * plan.columns + j];
          else
            sum = static_cast<T>(static_cast<std::uint64_t>(sum) +
                                 static_cast<std::uint64_t>(p[i * plan.inner + l]) *
                                     static_cast<std::uint64_t>(q[l * plan.columns + j]));
        }
        *to++ = sum;
      }
  }
}

}  // namespace

Result<MatMulShape> matmul_shape(const Call& call, const Tensor& a, const Tensor& b) {
  if (a.rank() == 0 || b.rank() == 0) return call.fault("a scalar operand", "rank 1 or more");
  Shape left = a.shape(), right = b.shape();
  if (a.rank() == 1) left.insert(left.begin(), 1);
  if (b.rank() == 1) right.push_back(1);
  const std::int64_t m = left[left.size() - 2], k = left.back(), n = right.back();
  if (right[right.size() - 2] != k) return call.fault(1, tensor_text(b), fmt::format("{} rows", k));
  MatMulShape out;
  CALKIT_CHECK_OK(
      broadcast_batches(call, a, Shape(left.begin(), left.end() - 2), Shape(right.begin(), right.end() - 2), out));
  if (a.rank() > 1) out.shape.push_back(m);
  if (b.rank() > 1) out.shape.push_back(n);
  out.rows = static_cast<std::size_t>(m);
  out.columns = static_cast<std::size_t>(n);
  out.inner = static_cast<std::size_t>(k);
  return out;
}

Status exact_matmul(const Call& call, const Tensor& a, const Tensor& b) {
  CALKIT_TRY(const MatMulShape plan, matmul_shape(call, a, b));
  CALKIT_TRY(Tensor y, call.out(0, a.dtype(), plan.shape));
  if (a.dtype() == DType::kF64) multiply<double>(plan, a, b, y);
  if (a.dtype() == DType::kI64) multiply<std::int64_t>(plan, a, b, y);
  if (a.dtype() == DType::kU64) multiply<std::uint64_t>(plan, a, b, y);
  return {};
}

}  // namespace calkit::exec
