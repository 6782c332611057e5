#pragma once
/// The inner loops: rows of weights against rows of activations, and weighted sums of rows.
/// Every result is accumulated in F32 in one fixed order that does not depend on how many rows a call has:
///   two accumulators of eight lanes (blocks of eight elements alternate), added, halved three times, then the tail.
#include <cstddef>

#include "calkit/tensor/dtype.h"
#include "cpu.h"

namespace calkit::exec {

/// Rows of F32 or BF16 elements, `stride` elements apart.
struct Rows {
  const void* data = nullptr;
  bool bf16 = false;
  std::size_t stride = 0;
  Rows from(std::size_t row) const;
};

/// y[m * y_stride + n] = sum over k of x[m * x_stride + k] * w[n][k], for 1 <= any m. Rows of w are read once for all
/// rows of x, in blocks that stay in the cache.
void dot_rows(Isa isa, const float* x, std::size_t x_stride, std::size_t m, const Rows& w, std::size_t n, std::size_t k,
              float* y, std::size_t y_stride);

/// y[m * y_stride + d] = sum over t of p[m * p_stride + t] * v[t][d], t ascending.
void weighted_rows(Isa isa, const float* p, std::size_t p_stride, std::size_t m, std::size_t t, const Rows& v,
                   std::size_t d, float* y, std::size_t y_stride);

void widen(Isa isa, const BF16* from, float* to, std::size_t count);
void narrow(Isa isa, const float* from, BF16* to, std::size_t count);  ///< round to nearest even, NaN stays NaN
/// values = round(values * factor), each to the nearest BF16.
void scale_and_round(Isa isa, float* values, float factor, std::size_t count);

}  // namespace calkit::exec
