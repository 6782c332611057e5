// NonZero and ScatterND: which elements, and elements put or added where an index says.
#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "call.h"
#include "wide.h"

namespace calkit::exec {
namespace {

template <class T>
std::vector<std::size_t> places_of(const Tensor& x) {
  std::vector<std::size_t> out;
  const auto values = x.data<T>();
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != T{}) out.push_back(i);
  return out;
}

// One column per element that is not zero, in the order of the operand.
Status run_non_zero(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  std::vector<std::size_t> places;
  switch (x->dtype()) {
    case DType::kBool:
      places = places_of<std::uint8_t>(*x);
      break;
    case DType::kF32:
      places = places_of<float>(*x);
      break;
    case DType::kI32:
      places = places_of<std::int32_t>(*x);
      break;
    case DType::kI64:
      places = places_of<std::int64_t>(*x);
      break;
    default:
      return call.fault(0, tensor_text(*x), "bool, f32, i32 or i64");
  }
  const auto count = static_cast<std::int64_t>(places.size());
  CALKIT_TRY(Tensor y, call.out(0, DType::kI64, {static_cast<std::int64_t>(x->rank()), count}));
  const auto strides = strides_of(x->shape());
  auto to = y.mutable_data<std::int64_t>();
  for (std::size_t axis = 0; axis < x->rank(); ++axis)
    for (std::size_t i = 0; i < places.size(); ++i)
      to[axis * places.size() + i] = static_cast<std::int64_t>(places[i] / strides[axis]) % x->shape()[axis];
  return {};
}

// Where each index tuple points, in runs of the data's remaining axes.
Result<std::vector<std::size_t>> run_starts(const Call& call, const Tensor& data, const Tensor& indices,
                                            const std::vector<std::int64_t>& wanted, std::size_t depth) {
  std::vector<std::size_t> out;
  for (std::size_t tuple = 0; depth > 0 && tuple < indices.elements() / depth; ++tuple) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < depth; ++i) {
      const std::int64_t here = data.shape()[i], index = wanted[tuple * depth + i];
      if (index < -here || index >= here)
        return call.fault(1, fmt::format("index {}", index), fmt::format("an index into {} rows", here));
      at = at * static_cast<std::size_t>(here) + static_cast<std::size_t>(index < 0 ? index + here : index);
    }
    out.push_back(at);
  }
  return out;
}

template <class T>
void add_runs(const std::vector<std::size_t>& starts, std::size_t run, const Tensor& updates, Tensor& y) {
  const T* from = updates.data<T>().data();
  for (const std::size_t start : starts) {
    T* to = y.mutable_data<T>().data() + start * run;
    for (std::size_t i = 0; i < run; ++i) put(to[i], wide(to[i]) + wide(*from++));
  }
}

Status run_scatter_nd(const Call& call) {
  CALKIT_TRY(const Tensor* data, call.input(0));
  CALKIT_TRY(const Tensor* indices, call.input(1));
  CALKIT_TRY(const Tensor* updates, call.input(2));
  CALKIT_TRY(const auto wanted, call.ints(1));
  const auto* reduction = call.node.attribute("reduction");
  const std::string how = reduction != nullptr ? reduction->s : "none";
  if (how != "none" && how != "add") return call.fault("reduction " + how, "none or add");
  if (indices->rank() == 0 || indices->dim(-1) > static_cast<std::int64_t>(data->rank()) || indices->dim(-1) < 1)
    return call.fault(1, tensor_text(*indices), fmt::format("a last axis of 1 to {}", data->rank()));
  const auto depth = static_cast<std::size_t>(indices->dim(-1));
  Shape shape(indices->shape().begin(), indices->shape().end() - 1);
  shape.insert(shape.end(), data->shape().begin() + static_cast<std::ptrdiff_t>(depth), data->shape().end());
  if (updates->shape() != shape || updates->dtype() != data->dtype())
    return call.fault(2, tensor_text(*updates), fmt::format("{} {}", dtype_name(data->dtype()), shape_text(shape)));
  CALKIT_TRY(const auto starts, run_starts(call, *data, *indices, wanted, depth));
  const std::size_t run = extent(data->shape(), depth, data->rank());
  if (how == "add" && data->dtype() != DType::kF32 && data->dtype() != DType::kBF16)
    return call.fault(0, tensor_text(*data), "f32 or bf16 to add to");
  CALKIT_TRY(Tensor y, call.out(0, data->dtype(), data->shape()));
  if (y.bytes() > 0) std::memcpy(y.mutable_raw(), data->raw(), y.bytes());
  if (how == "add") {
    data->dtype() == DType::kF32 ? add_runs<float>(starts, run, *updates, y) : add_runs<BF16>(starts, run, *updates, y);
    return {};
  }
  const std::size_t bytes = run * dtype_bytes(data->dtype());
  for (std::size_t i = 0; i < starts.size() && bytes > 0; ++i)
    std::memcpy(y.mutable_raw() + starts[i] * bytes, updates->raw() + i * bytes, bytes);
  return {};
}

}  // namespace

void register_scatter(Registry& registry) {
  registry[":NonZero"] = {.min_inputs = 1, .max_inputs = 1, .run = &run_non_zero};
  registry[":ScatterND"] = {.min_inputs = 3, .max_inputs = 3, .attributes = {"reduction"}, .run = &run_scatter_nd};
}

}  // namespace calkit::exec
