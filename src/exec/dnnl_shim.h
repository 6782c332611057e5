#pragma once
/// The only user of oneDNN (2.6 on Debian 12, 3.7 on Debian 13). Its bfloat16 products are used only where the CPU has
/// the instructions: on AVX2 they do not exist, on plain AVX-512 they are slower than widening.
#include <cstddef>
#include <memory>

#include "calkit/base/result.h"
#include "calkit/tensor/dtype.h"

namespace calkit::exec {

/// True where the library keeps weights of that type in a layout of its own (AVX-512): packing once pays off.
bool dnnl_packs(DType dtype);

/// y[m, n] = x * w in F32, row-major without gaps; nothing is kept.
/// @param x [m, k], or [k, m] when x_transposed. @param w [k, n], or [n, k] when w_transposed.
Status dnnl_multiply(int threads, const float* x, bool x_transposed, const float* w, bool w_transposed, std::size_t m,
                     std::size_t n, std::size_t k, float* y);

/// Weights [n, k] in the library's own layout. Only where dnnl_packs() is true.
class PackedWeights {
 public:
  static Result<std::unique_ptr<PackedWeights>> pack(DType dtype, const void* w, std::size_t n, std::size_t k,
                                                     int threads);
  ~PackedWeights();
  /// @param x of the weights' type, [m, k]. @param y F32 [m, n]; accumulated in F32.
  Status multiply(const void* x, std::size_t m, float* y);
  std::size_t bytes() const;

 private:
  struct State;
  explicit PackedWeights(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace calkit::exec
