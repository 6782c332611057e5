#pragma once
/// Rotation of pairs of numbers of each head, from one layout to another.
#include <vector>

#include "call.h"

namespace calkit::exec {

/// Distances in elements.
struct HeadStrides {
  std::size_t batch = 0, head = 0, token = 0;
};

struct Rotation {
  std::size_t batch = 0, heads = 0, length = 0, width = 0;
  std::size_t rotated = 0;  ///< numbers of a head that take part; the rest is copied
  bool interleaved = false;
  HeadStrides from, to;
  std::vector<std::size_t> rows;  ///< by (batch, token): the row of the tables of cosines and sines
};

/// Operands `first` (cosines) and the next (sines), [batch, length, rotated / 2] each, or with positions, the operand
/// behind them, [extent, rotated / 2]: fills `rows`.
Status read_tables(const Call& call, std::size_t first, const Tensor* positions, Rotation& rotation);

/// F32 or BF16, all of one type.
void rotate_into(const Rotation& rotation, const Tensor& cos, const Tensor& sin, const Tensor& x, Tensor& y);

}  // namespace calkit::exec
