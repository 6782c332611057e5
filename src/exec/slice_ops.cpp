// Concat, Slice, Range and Expand: copies of parts.
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "broadcast.h"

namespace calkit::exec {
namespace {

constexpr std::int64_t kMaxRange = 1 << 28;  // elements; a Range comes from numbers in a graph, not from real data

// Operand 1, 2, ... of Slice: from opset 10 on an operand, before an attribute.
Result<std::vector<std::int64_t>> bounds_of(const Call& call, std::size_t index, const char* name) {
  CALKIT_TRY(const auto given, call.ints_or_attribute(index, name));
  if (!given) return call.fault(index, "nothing", "a tensor");
  return *given;
}

Status run_concat(const Call& call) {
  CALKIT_TRY(const Tensor* first, call.input(0));
  CALKIT_TRY(const std::size_t axis, normal_axis(call, call.node.int_or("axis", 0), first->rank()));
  Shape shape = first->shape();
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    CALKIT_TRY(const Tensor* part, call.input(i));
    bool fits = part->dtype() == first->dtype() && part->rank() == first->rank();
    for (std::size_t a = 0; fits && a < shape.size(); ++a) fits = a == axis || part->shape()[a] == shape[a];
    if (!fits) return call.fault(i, tensor_text(*part), fmt::format("{} but for axis {}", tensor_text(*first), axis));
    shape[axis] += part->shape()[axis];
  }
  CALKIT_TRY(Tensor y, call.out(0, first->dtype(), shape));
  const std::size_t outer = extent(shape, 0, axis), width = dtype_bytes(first->dtype());
  std::byte* to = y.mutable_raw();
  for (std::size_t block = 0; block < outer; ++block)
    for (const Tensor* part : call.inputs) {
      const std::size_t run = extent(part->shape(), axis, part->rank()) * width;
      if (run > 0) std::memcpy(to, part->raw() + block * run, run);
      to += run;
    }
  return {};
}

struct Window {
  std::int64_t start = 0, step = 1, count = 0;
};

Result<std::vector<Window>> read_windows(const Call& call, const Tensor& x) {
  std::vector<Window> windows(x.rank());
  for (std::size_t axis = 0; axis < x.rank(); ++axis) windows[axis].count = x.shape()[axis];
  CALKIT_TRY(const auto starts, bounds_of(call, 1, "starts"));
  CALKIT_TRY(const auto ends, bounds_of(call, 2, "ends"));
  std::vector<std::int64_t> axes, steps(starts.size(), 1);
  for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  CALKIT_TRY(const auto stated_axes, call.ints_or_attribute(3, "axes"));
  if (stated_axes) axes = *stated_axes;
  if (call.optional(4) != nullptr) {
    CALKIT_TRY(steps, call.ints(4));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return call.fault("starts, ends, axes and steps of different lengths", "equal lengths");
  for (std::size_t i = 0; i < starts.size(); ++i) {
    CALKIT_TRY(const std::size_t axis, normal_axis(call, axes[i], x.rank()));
    const std::int64_t size = x.shape()[axis], step = steps[i];
    if (step == 0 || step == INT64_MIN) return call.fault(4, fmt::format("step {}", step), "a step other than 0");
    // Both bounds are clamped to where a walk with that sign can be.
    const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    const auto bound = [&](std::int64_t at) { return std::clamp(at < 0 ? at + size : at, low, high); };
    const std::int64_t start = std::clamp(starts[i] < 0 ? starts[i] + size : starts[i], std::int64_t{0}, high);
    const std::int64_t end = bound(ends[i]);
    const std::int64_t distance = step > 0 ? end - start : start - end, pace = step > 0 ? step : -step;
    windows[axis] = {start, step, distance <= 0 ? 0 : (distance - 1) / pace + 1};
  }
  return windows;
}

Status run_slice(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(const auto windows, read_windows(call, *x));
  Shape shape;
  for (const Window& window : windows) shape.push_back(window.count);
  CALKIT_TRY(Tensor y, call.out(0, x->dtype(), shape));
  if (y.elements() == 0) return {};
  const auto strides = strides_of(x->shape());
  const std::size_t width = dtype_bytes(x->dtype()), rank = shape.size();
  // Trailing axes that are taken whole are copied in one piece.
  std::size_t whole = rank;
  while (whole > 0 && windows[whole - 1].step == 1 && windows[whole - 1].count == x->shape()[whole - 1]) --whole;
  const std::size_t run = extent(shape, whole, rank) * width;
  std::vector<std::int64_t> at(whole, 0);
  std::byte* to = y.mutable_raw();
  for (std::size_t piece = extent(shape, 0, whole); piece-- > 0; to += run) {
    std::size_t offset = 0;
    for (std::size_t axis = 0; axis < whole; ++axis)
      offset += static_cast<std::size_t>(windows[axis].start + at[axis] * windows[axis].step) * strides[axis];
    std::memcpy(to, x->raw() + offset * width, run);
    for (std::size_t axis = whole; axis-- > 0;) {
      if (++at[axis] < shape[axis]) break;
      at[axis] = 0;
    }
  }
  return {};
}

template <class T>
Status range_of(const Call& call) {
  T bounds[3];
  for (std::size_t i = 0; i < 3; ++i) {
    if (call.inputs[i]->elements() != 1) return call.fault(i, tensor_text(*call.inputs[i]), "one element");
    bounds[i] = call.inputs[i]->data<T>()[0];
  }
  const double count =
      std::ceil((static_cast<double>(bounds[1]) - static_cast<double>(bounds[0])) / static_cast<double>(bounds[2]));
  if (bounds[2] == 0 || !(count <= static_cast<double>(kMaxRange)))
    return call.fault(fmt::format("{} elements", count), fmt::format("a delta other than 0 and at most {}", kMaxRange));
  const std::int64_t n = count > 0 ? static_cast<std::int64_t>(count) : 0;
  CALKIT_TRY(Tensor y, call.out(0, call.inputs[0]->dtype(), {n}));
  auto to = y.mutable_data<T>();
  for (std::int64_t i = 0; i < n; ++i)
    to[static_cast<std::size_t>(i)] = static_cast<T>(bounds[0] + static_cast<T>(i) * bounds[2]);
  return {};
}

Status run_range(const Call& call) {
  CALKIT_TRY(const Tensor* start, call.input(0));
  for (std::size_t i = 1; i < 3; ++i) {
    CALKIT_TRY([[maybe_unused]] const Tensor* bound, call.input(i));
  }
  switch (start->dtype()) {
    case DType::kF32:
      return range_of<float>(call);
    case DType::kF64:
      return range_of<double>(call);
    default:
      return range_of<std::int64_t>(call);
  }
}

Status run_expand(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(const Shape wanted, call.ints(1));
  for (const std::int64_t extent_wanted : wanted)
    if (extent_wanted < 0) return call.fault(1, shape_text(wanted), "extents that are not negative");
  // Only the shape of the second operand matters: one that owns no bytes stands for it.
  const Tensor target = Tensor::borrow(x->dtype(), wanted, nullptr, nullptr);
  CALKIT_TRY(const Broadcast<2> plan, (broadcast<2>(call, {x, &target})));
  CALKIT_TRY(Tensor y, call.out(0, x->dtype(), plan.shape));
  Broadcast<1> single{plan.shape, {plan.strides[0]}};
  const std::size_t width = dtype_bytes(x->dtype());
  std::byte* to = y.mutable_raw();
  for_each_run(single, [&](const auto& offsets, std::size_t count, const auto& steps) {
    for (std::size_t i = 0; i < count; ++i, to += width)
      std::memcpy(to, x->raw() + (offsets[0] + i * steps[0]) * width, width);
  });
  return {};
}

}  // namespace

void register_slice_ops(Registry& registry) {
  registry[":Concat"] = {.min_inputs = 1, .max_inputs = 1024, .attributes = {"axis=i"}, .run = &run_concat};
  registry[":Slice"] = {
      .min_inputs = 1, .max_inputs = 5, .attributes = {"starts=I<10", "ends=I<10", "axes=I<10"}, .run = &run_slice};
  registry[":Range"] = {.min_inputs = 3,
                        .max_inputs = 3,
                        .attributes = {"stash_type=i>=27"},
                        .run = &run_range,
                        .types = kFloatTypes | type_bit(DType::kI16) | kTypeI32 | kTypeI64,
                        .native = kTypeF32 | kTypeF64 | kTypeI64,
                        .same = kEach,
                        .since = 11};
  registry[":Expand"] = {.min_inputs = 2, .max_inputs = 2, .run = &run_expand, .since = 8};
}

}  // namespace calkit::exec
