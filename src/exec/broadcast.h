#pragma once
/// NumPy broadcasting of two or three operands, with contiguous inner loops.
#include <algorithm>
#include <array>
#include <vector>

#include "call.h"

namespace calkit::exec {

template <std::size_t kOperands>
struct Broadcast {
  Shape shape;                                              ///< of the result
  std::array<std::vector<std::size_t>, kOperands> strides;  ///< 0 where an operand repeats
};

template <std::size_t kOperands>
Result<Broadcast<kOperands>> broadcast(const Call& call, const std::array<const Tensor*, kOperands>& operands) {
  Broadcast<kOperands> out;
  std::size_t rank = 0;
  for (const Tensor* operand : operands) rank = std::max(rank, operand->rank());
  out.shape.assign(rank, 1);
  for (std::size_t i = 0; i < kOperands; ++i) {
    const Shape& shape = operands[i]->shape();
    const std::size_t skip = rank - shape.size();
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      std::int64_t& extent = out.shape[skip + axis];
      if (extent == 1)
        extent = shape[axis];
      else if (shape[axis] != 1 && shape[axis] != extent)
        return call.fault(i, tensor_text(*operands[i]), "a shape that broadcasts with " + shape_text(out.shape));
    }
  }
  for (std::size_t i = 0; i < kOperands; ++i) {
    const Shape& shape = operands[i]->shape();
    const auto own = strides_of(shape);
    out.strides[i].assign(rank, 0);
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis] != 1) out.strides[i][rank - shape.size() + axis] = own[axis];
  }
  return out;
}

/// Calls inner(offsets, count, steps): `count` elements along the last loop, operand i starting at offsets[i] and
/// moving by steps[i] (0 or 1 or more) per element. Results are contiguous, in order.
template <std::size_t kOperands, class Inner>
void for_each_run(const Broadcast<kOperands>& plan, const Inner& inner) {
  std::size_t axes = plan.shape.size();
  std::array<std::size_t, kOperands> steps{}, offsets{};
  std::size_t count = 1;
  if (axes > 0) {
    count = static_cast<std::size_t>(plan.shape[axes - 1]);
    for (std::size_t i = 0; i < kOperands; ++i) steps[i] = plan.strides[i][axes - 1];
    --axes;
    // Outer axes that continue the run for every operand join it.
    for (; axes > 0; --axes) {
      bool joins = true;
      for (std::size_t i = 0; i < kOperands; ++i) joins = joins && plan.strides[i][axes - 1] == steps[i] * count;
      if (!joins) break;
      count *= static_cast<std::size_t>(plan.shape[axes - 1]);
    }
  }
  const std::size_t runs = extent(plan.shape, 0, axes);
  if (count == 0) return;
  std::vector<std::int64_t> at(axes, 0);
  for (std::size_t run = 0; run < runs; ++run) {
    inner(offsets, count, steps);
    for (std::size_t axis = axes; axis-- > 0;) {
      for (std::size_t i = 0; i < kOperands; ++i) offsets[i] += plan.strides[i][axis];
      if (++at[axis] < plan.shape[axis]) break;
      for (std::size_t i = 0; i < kOperands; ++i)
        offsets[i] -= plan.strides[i][axis] * static_cast<std::size_t>(plan.shape[axis]);
      at[axis] = 0;
    }
  }
}

}  // namespace calkit::exec
