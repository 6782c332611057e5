#pragma once
/// Constant weights [n, k] (a row per output, the checkpoint's own layout) times activations.
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "calkit/tensor/tensor.h"
#include "cpu.h"

namespace calkit::exec {

class PackedWeights;

/// y = x * w^T (+ bias). F32 or BF16; accumulates in F32, rounds once.
/// Where oneDNN has a packed layout for the type, `w` is packed once. Elsewhere the rows are read where they are, BF16
/// rows being widened a block at a time, and the result of a row of x does not depend on the other rows.
class Linear {
 public:
  /// @param may_pack false for weights that are used once. The bytes of `w` stay referenced either way.
  static Result<std::unique_ptr<Linear>> create(Tensor w, int threads, bool may_pack = true);
  ~Linear();

  std::size_t outputs() const { return n_; }
  std::size_t inputs() const { return k_; }
  DType dtype() const { return w_.dtype(); }
  std::uint64_t packed_bytes() const;
  /// @param x [m, k] and y [m, n] of w's type. @param bias [n], added in F32 before the result is rounded, or nullptr.
  Status multiply(const std::byte* x, std::size_t m, std::byte* y, const float* bias = nullptr) const;

 private:
  explicit Linear(Tensor w, int threads);
  Status packed(const std::byte* x, std::size_t m, std::byte* y, const float* bias) const;
  void as_stored(const float* x, std::size_t m, std::byte* y, const float* bias) const;

  Tensor w_;
  std::size_t n_ = 0, k_ = 0;
  int threads_ = 1;
  Isa isa_;
  std::unique_ptr<PackedWeights> packed_;
};

/// Sessions that run the same weights share what was packed from them (the same bytes, not equal ones). Thread-safe.
class LinearCache {
 public:
  Result<std::shared_ptr<const Linear>> get(const Tensor& w, int threads);

 private:
  std::mutex mutex_;
  std::map<std::tuple<const std::byte*, std::int64_t, std::int64_t, DType>, std::weak_ptr<const Linear>> known_;
};

}  // namespace calkit::exec
