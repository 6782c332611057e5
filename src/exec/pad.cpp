// Pad and Tile: copies of a tensor's elements around it.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "call.h"

namespace calkit::exec {
namespace {

enum class Mode { kConstant, kReflect, kEdge, kWrap };

// Where a place outside of [0, size) takes its element from.
std::int64_t source_of(Mode mode, std::int64_t at, std::int64_t size) {
  if (at >= 0 && at < size) return at;
  if (mode == Mode::kEdge) return at < 0 ? 0 : size - 1;
  if (mode == Mode::kWrap) return (at % size + size) % size;
  if (size == 1) return 0;
  const std::int64_t period = 2 * (size - 1), place = (at % period + period) % period;
  return place < size ? place : period - place;
}

// For each axis: the source of each place of the result, -1 for the constant.
Result<std::vector<std::vector<std::int64_t>>> sources(const Call& call, const Tensor& x, const Shape& shape,
                                                       const std::vector<std::int64_t>& begins, Mode mode) {
  std::vector<std::vector<std::int64_t>> out(x.rank());
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t size = x.shape()[axis];
    for (std::int64_t i = 0; i < shape[axis]; ++i) {
      const std::int64_t at = i - begins[axis];
      const bool inside = at >= 0 && at < size;
      if (!inside && mode != Mode::kConstant && size == 0) return call.fault(0, tensor_text(x), "elements to repeat");
      out[axis].push_back(inside ? at : mode == Mode::kConstant ? -1 : source_of(mode, at, size));
    }
  }
  return out;
}

void fill(const Tensor& x, const std::vector<std::vector<std::int64_t>>& from, const std::byte* constant, Tensor& y) {
  const std::size_t width = dtype_bytes(x.dtype()), rank = x.rank();
  const auto strides = strides_of(x.shape());
  std::vector<std::size_t> at(rank, 0);
  std::byte* to = y.mutable_raw();
  for (std::size_t left = y.elements(); left-- > 0; to += width) {
    std::size_t offset = 0;
    bool inside = true;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const std::int64_t source = from[axis][at[axis]];
      inside = inside && source >= 0;
      offset += static_cast<std::size_t>(std::max<std::int64_t>(source, 0)) * strides[axis];
    }
    std::memcpy(to, inside ? x.raw() + offset * width : constant, width);
    for (std::size_t axis = rank; axis-- > 0;) {
      if (++at[axis] < from[axis].size()) break;
      at[axis] = 0;
    }
  }
}

Result<Mode> read_mode(const Call& call) {
  const std::string mode = call.text_or("mode", "constant");
  constexpr std::pair<const char*, Mode> kModes[] = {
      {"constant", Mode::kConstant}, {"reflect", Mode::kReflect}, {"edge", Mode::kEdge}, {"wrap", Mode::kWrap}};
  for (const auto& [name, value] : kModes)
    if (mode == name && (value != Mode::kWrap || call.opset >= 19)) return value;
  return call.fault("mode '" + mode + "'", "constant, reflect, edge or (from opset 19 on) wrap");
}

// What a padding of that many places at either side leaves; negative ones cut.
Result<Shape> padded_shape(const Call& call, const Tensor& x, std::vector<std::int64_t>& begins) {
  std::vector<std::int64_t> pads, axes;
  if (call.opset < 11) {
    const auto* attribute = call.node.attribute("pads");
    if (attribute != nullptr) pads = attribute->ints;
  } else {
    CALKIT_TRY(pads, call.ints(1));
  }
  for (std::size_t i = 0; i < x.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (call.optional(3) != nullptr) {
    CALKIT_TRY(axes, call.ints(3));
  }
  if (pads.size() != 2 * axes.size())
    return call.fault(fmt::format("{} pads", pads.size()), fmt::format("{}", 2 * axes.size()));
  Shape shape = x.shape();
  begins.assign(x.rank(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    CALKIT_TRY(const std::size_t axis, normal_axis(call, axes[i], x.rank()));
    const std::int64_t begin = pads[i], end = pads[axes.size() + i];
    begins[axis] = begin;
    if (__builtin_add_overflow(shape[axis], begin, &shape[axis]) ||
        __builtin_add_overflow(shape[axis], end, &shape[axis]) || shape[axis] < 0)
      return call.fault(fmt::format("pads {} and {} at axis {} of {}", begin, end, axis, tensor_text(x)),
                        "an extent that is not negative");
  }
  return shape;
}

Status run_pad(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(const Mode mode, read_mode(call));
  std::vector<std::int64_t> begins;
  CALKIT_TRY(const Shape shape, padded_shape(call, *x, begins));
  std::byte constant[8] = {};
  if (const Tensor* fill_value = call.optional(2)) {
    if (fill_value->dtype() != x->dtype() || fill_value->elements() != 1)
      return call.fault(2, tensor_text(*fill_value), fmt::format("one {}", dtype_name(x->dtype())));
    std::memcpy(constant, fill_value->raw(), fill_value->bytes());
  } else if (const float given = call.node.float_or("value", 0); given != 0) {
    CALKIT_TRY(const Tensor value, convert(Tensor::of<float>({1}, {given}), x->dtype()), node_label(call.node));
    std::memcpy(constant, value.raw(), value.bytes());
  }
  CALKIT_TRY(Tensor y, call.out(0, x->dtype(), shape));
  if (y.elements() == 0) return {};
  CALKIT_TRY(const auto from, sources(call, *x, shape, begins, mode));
  fill(*x, from, constant, y);
  return {};
}

Status run_tile(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(const auto repeats, call.ints(1));
  if (repeats.size() != x->rank())
    return call.fault(1, fmt::format("{} repeats", repeats.size()), fmt::format("{}", x->rank()));
  Shape shape = x->shape();
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (repeats[axis] < 0 || __builtin_mul_overflow(shape[axis], repeats[axis], &shape[axis]))
      return call.fault(1, shape_text(repeats), "numbers that are not negative, of a shape that fits memory");
  CALKIT_TRY(Tensor y, call.out(0, x->dtype(), shape));
  if (y.elements() == 0) return {};
  CALKIT_TRY(const auto from, sources(call, *x, shape, std::vector<std::int64_t>(x->rank(), 0), Mode::kWrap));
  fill(*x, from, nullptr, y);
  return {};
}

}  // namespace

void register_pad(Registry& registry) {
  registry[":Pad"] = {
      .min_inputs = 1, .max_inputs = 4, .attributes = {"mode=s", "pads=I<11", "value=f<11"}, .run = &run_pad};
  registry[":Tile"] = {.min_inputs = 2, .max_inputs = 2, .run = &run_tile};
}

}  // namespace calkit::exec
