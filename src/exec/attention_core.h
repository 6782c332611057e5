#pragma once
/// Softmax attention of one call, whatever the layout of its operands. F32 inside; memory grows with the keys, not with
/// queries times keys.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "calkit/tensor/tensor.h"

namespace calkit::exec {

/// Vectors of `width` elements by (row of the batch, head, token); strides in elements.
struct HeadView {
  const std::byte* data = nullptr;
  bool bf16 = false;
  std::size_t width = 0;
  std::size_t batch_stride = 0, head_stride = 0, token_stride = 0;

  const std::byte* at(std::size_t batch, std::size_t head, std::size_t token) const;
  /// A tensor [B, heads, tokens, width].
  static HeadView of_heads(const Tensor& tensor);
  /// A tensor [B, tokens, heads * width].
  static HeadView of_merged(const Tensor& tensor, std::size_t heads);
};

/// A mask that broadcasts to [B, heads, queries, keys]: bool (true attends) or float (added to the scores). Keys beyond
/// the mask's last axis are masked.
struct MaskView {
  const Tensor* tensor = nullptr;  ///< nullptr: no mask
  std::size_t strides[4] = {0, 0, 0, 0};
  std::size_t keys = 0;
  /// Adds the mask to scores[0 .. count).
  void apply(std::size_t batch, std::size_t head, std::size_t query, float* scores, std::size_t count) const;
};

struct AttentionCall {
  std::size_t batch = 0, heads = 0, kv_heads = 0, queries = 0;
  HeadView q, k, v, y;            ///< y is written
  std::vector<std::size_t> keys;  ///< by row of the batch: keys that exist
  /// By row of the batch: the place of the first query among the keys, for `causal` and the windows; negative where
  /// the first queries come before all keys.
  std::vector<std::int64_t> offsets;
  bool causal = false;
  std::int64_t left = -1, right = -1;  ///< keys that a query sees on either side of its place; -1: all
  std::vector<std::size_t> filled;     ///< by row of the batch: keys that count; empty: all of them
  float scale = 1, softcap = 0;
  MaskView mask;
  float* scores = nullptr;  ///< [B, heads, queries, keys], written where it is set
  int scores_mode = 0;      ///< 0: scaled products, 1: after softcap, 2: masked, 3: after softmax
};
void attend(const AttentionCall& call, int threads);

}  // namespace calkit::exec
