#pragma once
/// Products of rows of int8: sums of int32, exact (modulo 2^32, as MatMulInteger has them) with every instruction set.
/// oneDNN is not asked: on CPUs without VNNI its int8 products saturate in between.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace calkit::exec {

enum class IntegerIsa { kScalar, kAvx2, kVnni };  ///< kVnni: AVX-512 with VNNI
IntegerIsa best_integer_isa();

/// Rows of activations as the instructions want them.
class Int8Rows {
 public:
  Int8Rows(IntegerIsa isa, const std::int8_t* x, std::size_t m, std::size_t k);

  IntegerIsa isa() const { return isa_; }
  std::size_t rows() const { return m_; }
  std::size_t inputs() const { return k_; }
  const void* row(std::size_t index) const;

 private:
  IntegerIsa isa_;
  std::size_t m_, k_, stride_;
  std::vector<std::int8_t> bytes_;    // scalar: as they are; VNNI: 128 added, zeros up to a multiple of 64
  std::vector<std::int16_t> halves_;  // AVX2
};

/// The sum of each of n rows of k: what dot_int8() needs of its weights.
std::vector<std::int32_t> int8_sums(const std::int8_t* w, std::size_t n, std::size_t k);

/// y[i * y_stride + j] = x[first + i] . w[j] for `count` rows of x and n rows of w, which lie k apart.
/// @param w_sums int8_sums() of these rows.
void dot_int8(const Int8Rows& x, std::size_t first, std::size_t count, const std::int8_t* w, const std::int32_t* w_sums,
              std::size_t n, std::int32_t* y, std::size_t y_stride);

}  // namespace calkit::exec
