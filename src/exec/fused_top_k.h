#pragma once
/// What the operators of calkit.fused that choose have in common.
#include <string>
#include <vector>

#include "call.h"
#include "ranking.h"

namespace calkit::exec {

constexpr std::size_t kHeadBlock = 16384;  ///< rows of a head whose logits exist at a time

/// Attribute k: one number from 0 to `most`.
Result<std::size_t> read_k(const Call& call, std::int64_t most);

/// Outputs of a call: values and ids [..., k] of the best of each row.
class Heads {
 public:
  /// @param rows shape of which the last axis becomes k. @param dtype of the values.
  Heads(const Call& call, Shape rows, std::size_t k, DType dtype);
  std::size_t rows() const { return best_.size(); }

  /// @param logits F32 [rows, n], rounded to the type of the values: columns `first` and on. kInput for NaN.
  Status add(const float* logits, std::size_t n, std::size_t first);
  Status write() const;

 private:
  const Call& call_;
  Shape shape_;
  DType dtype_;
  std::vector<Best> best_;
};

}  // namespace calkit::exec
