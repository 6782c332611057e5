// GatherElements, Compress and ReverseSequence.
#include <fmt/format.h>

#include <cstring>

#include "element_places.h"

namespace calkit::exec {

Result<std::vector<std::size_t>> element_places(const Call& call, const Tensor& data, const Tensor& indices,
                                                const std::vector<std::int64_t>& wanted, std::size_t axis) {
  bool fits = indices.rank() == data.rank();
  for (std::size_t i = 0; fits && i < data.rank(); ++i) fits = i == axis || indices.shape()[i] <= data.shape()[i];
  if (!fits) return call.fault(1, tensor_text(indices), "a shape inside " + shape_text(data.shape()));
  const auto strides = strides_of(data.shape());
  const std::int64_t size = data.shape()[axis];
  std::vector<std::size_t> out;
  out.reserve(wanted.size());
  std::vector<std::int64_t> at(indices.rank(), 0);
  for (const std::int64_t index : wanted) {
    if (index < -size || index >= size)
      return call.fault(1, fmt::format("index {}", index), fmt::format("an index into {} rows", size));
    std::size_t place = 0;
    for (std::size_t i = 0; i < at.size(); ++i)
      place += static_cast<std::size_t>(i != axis ? at[i] : index < 0 ? index + size : index) * strides[i];
    out.push_back(place);
    for (std::size_t i = at.size(); i-- > 0;) {
      if (++at[i] < indices.shape()[i]) break;
      at[i] = 0;
    }
  }
  return out;
}

namespace {

Status run_gather_elements(const Call& call) {
  CALKIT_TRY(const Tensor* data, call.input(0));
  CALKIT_TRY(const Tensor* indices, call.input(1));
  CALKIT_TRY(const auto wanted, call.ints(1));
  CALKIT_TRY(const std::size_t axis, normal_axis(call, call.node.int_or("axis", 0), data->rank()));
  CALKIT_TRY(const auto places, element_places(call, *data, *indices, wanted, axis));
  CALKIT_TRY(Tensor y, call.out(0, data->dtype(), indices->shape()));
  const std::size_t width = dtype_bytes(data->dtype());
  for (std::size_t i = 0; i < places.size(); ++i)
    std::memcpy(y.mutable_raw() + i * width, data->raw() + places[i] * width, width);
  return {};
}

// Rows along the axis whose condition is true; without an axis, of the flattened tensor.
Status run_compress(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(const Tensor* condition, call.input(1));
  if (condition->dtype() != DType::kBool || condition->rank() != 1)
    return call.fault(1, tensor_text(*condition), "bool of rank 1");
  Shape shape = {static_cast<std::int64_t>(x->elements())};
  std::size_t axis = 0;
  if (call.node.attribute("axis") != nullptr) {
    shape = x->shape();
    CALKIT_TRY(axis, normal_axis(call, call.node.int_or("axis", 0), x->rank()));
  }
  const auto keep = condition->data<std::uint8_t>();
  const auto rows = static_cast<std::size_t>(shape[axis]);
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < keep.size() && i < rows; ++i)
    if (keep[i] != 0) kept.push_back(i);
  const std::size_t run = extent(shape, axis + 1, shape.size()) * dtype_bytes(x->dtype());
  const std::size_t outer = extent(shape, 0, axis);
  shape[axis] = static_cast<std::int64_t>(kept.size());
  CALKIT_TRY(Tensor y, call.out(0, x->dtype(), shape));
  std::byte* to = y.mutable_raw();
  for (std::size_t block = 0; block < outer && run > 0; ++block)
    for (const std::size_t row : kept) {
      std::memcpy(to, x->raw() + (block * rows + row) * run, run);
      to += run;
    }
  return {};
}

// The first lengths[b] steps of sequence b, backwards.
Status run_reverse_sequence(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(const auto lengths, call.ints(1));
  const std::int64_t time = call.node.int_or("time_axis", 0), batch = call.node.int_or("batch_axis", 1);
  if (x->rank() < 2 || time + batch != 1 || (time != 0 && time != 1))
    return call.fault(fmt::format("time_axis {} and batch_axis {} of {}", time, batch, tensor_text(*x)),
                      "0 and 1 in any order, of rank 2 or more");
  const auto steps = static_cast<std::size_t>(x->dim(time)), rows = static_cast<std::size_t>(x->dim(batch));
  if (lengths.size() != rows) return call.fault(1, fmt::format("{} lengths", lengths.size()), fmt::format("{}", rows));
  const std::size_t run = extent(x->shape(), 2, x->rank()) * dtype_bytes(x->dtype());
  CALKIT_TRY(Tensor y, call.out(0, x->dtype(), x->shape()));
  const auto place = [&](std::size_t row, std::size_t step) {
    return (time == 0 ? step * rows + row : row * steps + step) * run;
  };
  for (std::size_t row = 0; row < rows; ++row) {
    if (lengths[row] < 0 || lengths[row] > static_cast<std::int64_t>(steps))
      return call.fault(1, fmt::format("length {}", lengths[row]), fmt::format("0 to {}", steps));
    const auto length = static_cast<std::size_t>(lengths[row]);
    for (std::size_t step = 0; step < steps && run > 0; ++step)
      std::memcpy(y.mutable_raw() + place(row, step), x->raw() + place(row, step < length ? length - 1 - step : step),
                  run);
  }
  return {};
}

}  // namespace

void register_gather_elements(Registry& registry) {
  registry[":GatherElements"] = {
      .min_inputs = 2, .max_inputs = 2, .attributes = {"axis=i"}, .run = &run_gather_elements, .since = 11};
  registry[":Compress"] = {
      .min_inputs = 2, .max_inputs = 2, .attributes = {"axis=i"}, .run = &run_compress, .since = 9};
  registry[":ReverseSequence"] = {.min_inputs = 2,
                                  .max_inputs = 2,
                                  .attributes = {"time_axis=i", "batch_axis=i"},
                                  .run = &run_reverse_sequence,
                                  .since = 10};
}

}  // namespace calkit::exec
