// NonZero, ScatterND, ScatterElements, TensorScatter: which elements, and elements put or joined where an index says.
#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "call.h"
#include "element_places.h"
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
  if (x->dtype() == DType::kF32)
    places = places_of<float>(*x);
  else if (x->dtype() == DType::kF64)
    places = places_of<double>(*x);
  else
    visit_integer(x->dtype(), [&]<class T>(T) { places = places_of<T>(*x); });
  const auto count = static_cast<std::int64_t>(places.size());
  CALKIT_TRY(Tensor y, call.out(0, DType::kI64, {static_cast<std::int64_t>(x->rank()), count}));
  const auto strides = strides_of(x->shape());
  auto to = y.mutable_data<std::int64_t>();
  for (std::size_t axis = 0; axis < x->rank(); ++axis)
    for (std::size_t i = 0; i < places.size(); ++i)
      to[axis * places.size() + i] = static_cast<std::int64_t>(places[i] / strides[axis]) % x->shape()[axis];
  return {};
}

enum class Reduction { kNone, kAdd, kMul, kMax, kMin };

Result<Reduction> read_reduction(const Call& call) {
  const std::string how = call.text_or("reduction", "none");
  constexpr std::pair<const char*, Reduction> kKnown[] = {{"none", Reduction::kNone},
                                                          {"add", Reduction::kAdd},
                                                          {"mul", Reduction::kMul},
                                                          {"max", Reduction::kMax},
                                                          {"min", Reduction::kMin}};
  for (const auto& [name, value] : kKnown)
    if (how == name) return value;
  return call.fault("reduction " + how, "none, add, mul, max or min");
}

template <class T>
T joined(Reduction how, T a, T b) {
  if (how == Reduction::kMax) return b > a || b != b ? b : a;
  if (how == Reduction::kMin) return b < a || b != b ? b : a;
  if constexpr (std::is_integral_v<T>) {  // wraps
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    return static_cast<T>(how == Reduction::kAdd ? x + y : x * y);
  } else {
    return how == Reduction::kAdd ? a + b : a * b;
  }
}

template <class T>
void join_runs(const std::vector<std::size_t>& starts, std::size_t run, const Tensor& updates, Reduction how,
               Tensor& y) {
  const T* from = updates.data<T>().data();
  for (const std::size_t start : starts) {
    T* to = y.mutable_data<T>().data() + start;
    for (std::size_t i = 0; i < run; ++i, ++from) {
      if constexpr (std::is_integral_v<T>)
        to[i] = joined(how, to[i], *from);
      else
        put(to[i], joined(how, wide(to[i]), wide(*from)));
    }
  }
}

// y = data, with the updates in runs of `run` elements put at, or joined with, the elements from each start on.
Status scatter(const Call& call, const Tensor& data, const Tensor& updates, const std::vector<std::size_t>& starts,
               std::size_t run, Reduction how) {
  CALKIT_TRY(Tensor y, call.out(0, data.dtype(), data.shape()));
  if (y.bytes() > 0) std::memcpy(y.mutable_raw(), data.raw(), y.bytes());
  const std::size_t width = dtype_bytes(data.dtype());
  if (how == Reduction::kNone) {
    for (std::size_t i = 0; i < starts.size() && run > 0; ++i)
      std::memcpy(y.mutable_raw() + starts[i] * width, updates.raw() + i * run * width, run * width);
    return {};
  }
  if (!has_type(kNumbers, data.dtype())) return call.fault(0, tensor_text(data), "numbers to join");
  if (data.dtype() == DType::kF32)
    join_runs<float>(starts, run, updates, how, y);
  else if (data.dtype() == DType::kBF16)
    join_runs<BF16>(starts, run, updates, how, y);
  else if (data.dtype() == DType::kF64)
    join_runs<double>(starts, run, updates, how, y);
  else
    visit_integer(data.dtype(), [&]<class T>(T) { join_runs<T>(starts, run, updates, how, y); });
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

Status run_scatter_nd(const Call& call) {
  CALKIT_TRY(const Tensor* data, call.input(0));
  CALKIT_TRY(const Tensor* indices, call.input(1));
  CALKIT_TRY(const Tensor* updates, call.input(2));
  CALKIT_TRY(const auto wanted, call.ints(1));
  CALKIT_TRY(const Reduction how, read_reduction(call));
  if (indices->rank() == 0 || indices->dim(-1) > static_cast<std::int64_t>(data->rank()) || indices->dim(-1) < 1)
    return call.fault(1, tensor_text(*indices), fmt::format("a last axis of 1 to {}", data->rank()));
  const auto depth = static_cast<std::size_t>(indices->dim(-1));
  Shape shape(indices->shape().begin(), indices->shape().end() - 1);
  shape.insert(shape.end(), data->shape().begin() + static_cast<std::ptrdiff_t>(depth), data->shape().end());
  if (updates->shape() != shape)
    return call.fault(2, tensor_text(*updates), fmt::format("{} {}", dtype_name(data->dtype()), shape_text(shape)));
  CALKIT_TRY(auto starts, run_starts(call, *data, *indices, wanted, depth));
  const std::size_t run = extent(data->shape(), depth, data->rank());
  for (std::size_t& start : starts) start *= run;
  return scatter(call, *data, *updates, starts, run, how);
}

// Each update goes where its own place says, but for the axis, where the index does.
Status run_scatter_elements(const Call& call) {
  CALKIT_TRY(const Tensor* data, call.input(0));
  CALKIT_TRY(const Tensor* indices, call.input(1));
  CALKIT_TRY(const Tensor* updates, call.input(2));
  CALKIT_TRY(const auto wanted, call.ints(1));
  CALKIT_TRY(const Reduction how, read_reduction(call));
  CALKIT_TRY(const std::size_t axis, normal_axis(call, call.node.int_or("axis", 0), data->rank()));
  CALKIT_TRY(const auto places, element_places(call, *data, *indices, wanted, axis));
  if (updates->shape() != indices->shape())
    return call.fault(2, tensor_text(*updates), "the shape of the indices, " + shape_text(indices->shape()));
  return scatter(call, *data, *updates, places, 1, how);
}

// A cache [B, ...] whose rows from write_indices[b] on along the axis become the update's.
Status run_tensor_scatter(const Call& call) {
  CALKIT_TRY(const Tensor* cache, call.input(0));
  CALKIT_TRY(const Tensor* update, call.input(1));
  CALKIT_TRY(const std::size_t axis, normal_axis(call, call.node.int_or("axis", -2), cache->rank()));
  const std::string mode = call.text_or("mode", "linear");
  if (mode != "linear" && mode != "circular") return call.fault("mode '" + mode + "'", "linear or circular");
  Shape like = cache->shape();
  if (update->rank() == cache->rank()) like[axis] = update->shape()[axis];
  const std::int64_t room = cache->shape()[axis], length = like[axis];
  if (axis == 0 || update->shape() != like || length > room)
    return call.fault(1, tensor_text(*update), "the shape of the cache, but for fewer rows along its axis");
  std::vector<std::int64_t> first(static_cast<std::size_t>(cache->dim(0)), 0);
  if (call.optional(2) != nullptr) {
    CALKIT_TRY(first, call.ints(2));
  }
  if (first.size() != static_cast<std::size_t>(cache->dim(0)))
    return call.fault(2, fmt::format("{} indices", first.size()), fmt::format("{}", cache->dim(0)));
  const std::size_t run = extent(cache->shape(), axis + 1, cache->rank());
  const std::size_t inner = extent(cache->shape(), 1, axis);
  std::vector<std::size_t> starts;
  for (std::size_t b = 0; b < first.size(); ++b) {
    if (first[b] < 0 || first[b] >= room || (mode == "linear" && first[b] > room - length))
      return call.fault(2, fmt::format("index {}", first[b]), fmt::format("room for {} rows of {}", length, room));
    for (std::size_t i = 0; i < inner; ++i)
      for (std::int64_t row = 0; row < length; ++row)
        starts.push_back(
            ((b * inner + i) * static_cast<std::size_t>(room) + static_cast<std::size_t>((first[b] + row) % room)) *
            run);
  }
  return scatter(call, *cache, *update, starts, run, Reduction::kNone);
}

}  // namespace

void register_scatter(Registry& registry) {
  registry[":NonZero"] = {.min_inputs = 1,
                          .max_inputs = 1,
                          .run = &run_non_zero,
                          .native = kTypeF32 | kTypeF64 | kIntegers | kTypeBool,
                          .narrowed = 0,
                          .since = 9};
  const Types native = kLinearTypes | kTypeF64 | kIntegers | kTypeBool;
  registry[":ScatterND"] = {.min_inputs = 3,
                            .max_inputs = 3,
                            .attributes = {"reduction=s>=16"},
                            .run = &run_scatter_nd,
                            .native = native,
                            .same = 0b101,
                            .since = 11};
  registry[":ScatterElements"] = {.min_inputs = 3,
                                  .max_inputs = 3,
                                  .attributes = {"axis=i", "reduction=s>=16"},
                                  .run = &run_scatter_elements,
                                  .native = native,
                                  .same = 0b101,
                                  .since = 11};
  registry[":TensorScatter"] = {.min_inputs = 2,
                                .max_inputs = 3,
                                .attributes = {"axis=i", "mode=s"},
                                .run = &run_tensor_scatter,
                                .same = 0b11,
                                .since = 24};
}

}  // namespace calkit::exec
