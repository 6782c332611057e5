// Gather and GatherND: rows by index. Only the rows that are asked for are touched, so a mapped embedding stays on
// disk.
#include <fmt/format.h>

#include <cstring>

#include "call.h"

namespace calkit::exec {
namespace {

Status run_gather(const Call& call) {
  CALKIT_TRY(const Tensor* data, call.input(0));
  CALKIT_TRY(const Tensor* indices, call.input(1));
  CALKIT_TRY(const auto wanted, call.ints(1));
  if (data->rank() == 0) return call.fault(0, tensor_text(*data), "rank 1 or more");
  CALKIT_TRY(const std::size_t axis, normal_axis(call, call.node.int_or("axis", 0), data->rank()));
  const std::int64_t rows = data->dim(static_cast<std::int64_t>(axis));
  for (const std::int64_t index : wanted)
    if (index < -rows || index >= rows)
      return call.fault(1, fmt::format("index {}", index), fmt::format("an index into {} rows", rows));
  Shape shape(data->shape().begin(), data->shape().begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.end(), indices->shape().begin(), indices->shape().end());
  shape.insert(shape.end(), data->shape().begin() + static_cast<std::ptrdiff_t>(axis) + 1, data->shape().end());
  CALKIT_TRY(Tensor y, call.out(0, data->dtype(), shape));
  const std::size_t outer = extent(data->shape(), 0, axis);
  const std::size_t run = extent(data->shape(), axis + 1, data->rank()) * dtype_bytes(data->dtype());
  std::byte* to = y.mutable_raw();
  if (run == 0) return {};
  for (std::size_t block = 0; block < outer; ++block)
    for (const std::int64_t index : wanted) {
      const std::size_t row =
          block * static_cast<std::size_t>(rows) + static_cast<std::size_t>(index < 0 ? index + rows : index);
      std::memcpy(to, data->raw() + row * run, run);
      to += run;
    }
  return {};
}

Status run_gather_nd(const Call& call) {
  CALKIT_TRY(const Tensor* data, call.input(0));
  CALKIT_TRY(const Tensor* indices, call.input(1));
  CALKIT_TRY(const auto wanted, call.ints(1));
  const std::int64_t batch_dims = call.node.int_or("batch_dims", 0);
  const auto limit = static_cast<std::int64_t>(std::min(data->rank(), indices->rank()));
  if (batch_dims < 0 || batch_dims >= limit)
    return call.fault(fmt::format("batch_dims {}", batch_dims), fmt::format("0 to {}", limit - 1));
  const auto batch = static_cast<std::size_t>(batch_dims);
  const auto depth = static_cast<std::size_t>(indices->dim(-1));
  if (depth == 0 || batch + depth > data->rank())
    return call.fault(1, tensor_text(*indices), fmt::format("a last axis of 1 to {}", data->rank() - batch));
  for (std::size_t axis = 0; axis < batch; ++axis)
    if (data->shape()[axis] != indices->shape()[axis])
      return call.fault(1, tensor_text(*indices), "the batch axes of " + shape_text(data->shape()));
  Shape shape(indices->shape().begin(), indices->shape().end() - 1);
  shape.insert(shape.end(), data->shape().begin() + static_cast<std::ptrdiff_t>(batch + depth), data->shape().end());
  CALKIT_TRY(Tensor y, call.out(0, data->dtype(), shape));
  const std::size_t batches = extent(data->shape(), 0, batch);
  const std::size_t per_batch = extent(indices->shape(), batch, indices->rank() - 1);
  const std::size_t run = extent(data->shape(), batch + depth, data->rank()) * dtype_bytes(data->dtype());
  std::byte* to = y.mutable_raw();
  for (std::size_t tuple = 0; tuple < batches * per_batch; ++tuple) {
    std::size_t at = tuple / per_batch;
    for (std::size_t i = 0; i < depth; ++i) {
      const std::int64_t extent_here = data->shape()[batch + i];
      const std::int64_t index = wanted[tuple * depth + i];
      if (index < -extent_here || index >= extent_here)
        return call.fault(1, fmt::format("index {}", index), fmt::format("an index into {} rows", extent_here));
      at = at * static_cast<std::size_t>(extent_here) +
           static_cast<std::size_t>(index < 0 ? index + extent_here : index);
    }
    if (run > 0) std::memcpy(to, data->raw() + at * run, run);
    to += run;
  }
  return {};
}

}  // namespace

void register_gather(Registry& registry) {
  registry[":Gather"] = {.min_inputs = 2, .max_inputs = 2, .attributes = {"axis=i"}, .run = &run_gather};
  registry[":GatherND"] = {
      .min_inputs = 2, .max_inputs = 2, .attributes = {"batch_dims=i"}, .run = &run_gather_nd, .since = 11};
}

}  // namespace calkit::exec
