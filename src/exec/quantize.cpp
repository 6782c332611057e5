// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear: 8 and 16 bits, by tensor, by axis or by block.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "quantize.h"

namespace calkit::exec {

std::pair<std::int64_t, std::int64_t> integer_range(DType dtype) {
  switch (dtype) {
    case DType::kI8:
      return {-128, 127};
    case DType::kU8:
      return {0, 255};
    case DType::kI16:
      return {-32768, 32767};
    case DType::kU16:
      return {0, 65535};
    default:
      return {INT32_MIN, INT32_MAX};
  }
}

void store_quantized(Tensor& y, std::size_t index, double value, std::int64_t zero) {
  const auto [low, high] = integer_range(y.dtype());
  const double moved = std::nearbyint(value) + static_cast<double>(zero);
  const double bounded =
      std::clamp(std::isnan(moved) ? 0.0 : moved, static_cast<double>(low), static_cast<double>(high));
  visit_integer(y.dtype(), [&]<class T>(T) { y.mutable_data<T>()[index] = static_cast<T>(bounded); });
}

Result<std::vector<std::int64_t>> zero_points(const Tensor& tensor) {
  CALKIT_TRY(const Tensor wide, convert(tensor, DType::kI64));
  const auto values = wide.data<std::int64_t>();
  return std::vector<std::int64_t>(values.begin(), values.end());
}

namespace {

// Which scale an element has.
class ScaleMap {
 public:
  static Result<ScaleMap> of(const Call& call, const Tensor& x, const Tensor& scale) {
    ScaleMap out;
    if (scale.elements() == 1 && scale.rank() <= 1) return out;
    CALKIT_TRY(const std::size_t axis, normal_axis(call, call.node.int_or("axis", 1), x.rank()));
    const std::int64_t block = call.node.int_or("block_size", 0), size = x.shape()[axis];
    Shape wanted = {size};
    if (block != 0) {
      if (block < 0) return call.fault(fmt::format("block_size {}", block), "0 or more");
      wanted = x.shape();
      wanted[axis] = size / block + (size % block != 0 ? 1 : 0);
    }
    if (scale.shape() != wanted) return call.fault(1, tensor_text(scale), shape_text(wanted) + ", or one number");
    out.inner_ = extent(x.shape(), axis + 1, x.rank());
    out.size_ = static_cast<std::size_t>(size);
    out.block_ = static_cast<std::size_t>(block);
    out.blocks_ = block == 0 ? 0 : static_cast<std::size_t>(wanted[axis]);
    return out;
  }
  std::size_t at(std::size_t element) const {
    if (size_ == 0) return 0;
    const std::size_t place = element / inner_ % size_;
    if (block_ == 0) return place;
    return (element / inner_ / size_ * blocks_ + place / block_) * inner_ + element % inner_;
  }

 private:
  std::size_t inner_ = 1, size_ = 0, block_ = 0, blocks_ = 0;
};

// A quotient in the precision of the scale.
double rounded(double quotient, DType precision) {
  const auto single = static_cast<float>(quotient);
  if (precision == DType::kF16) return static_cast<double>(f16_to_float(float_to_f16(single)));
  if (precision == DType::kBF16) return static_cast<double>(round_bf16(single));
  return precision == DType::kF64 ? quotient : static_cast<double>(single);
}

Result<DType> attribute_type(const Call& call, const char* name, DType otherwise) {
  const std::int64_t code = call.node.int_or(name, 0);
  if (code == 0) return otherwise;
  const auto known = code > 0 && code < 64 ? onnx::to_dtype(static_cast<onnx::ElementType>(code)) : std::nullopt;
  if (!known) return call.fault(fmt::format("{} {}", name, code), "an element type that calkit computes with");
  return *known;
}

constexpr Types kQuantized = kTypeI8 | kTypeU8 | type_bit(DType::kI16) | type_bit(DType::kU16);

Status run_quantize(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(const Tensor* scale, call.input(1));
  const Tensor* zero = call.optional(2);
  CALKIT_TRY(const DType dtype, attribute_type(call, "output_dtype", zero != nullptr ? zero->dtype() : DType::kU8));
  CALKIT_TRY(const DType precision, attribute_type(call, "precision", scale->dtype()));
  if (!has_type(kQuantized, dtype)) return call.fault(2, std::string(dtype_name(dtype)), types_text(kQuantized));
  if (zero != nullptr && (zero->dtype() != dtype || zero->elements() != scale->elements()))
    return call.fault(2, tensor_text(*zero), fmt::format("{} {}", dtype_name(dtype), shape_text(scale->shape())));
  CALKIT_TRY(const ScaleMap map, ScaleMap::of(call, *x, *scale));
  CALKIT_TRY(const auto zeros, zero != nullptr ? zero_points(*zero) : Shape());
  CALKIT_TRY(Tensor y, call.out(0, dtype, x->shape()));
  CALKIT_TRY(const auto from, to_floats(*x));
  CALKIT_TRY(const auto scales, to_floats(*scale));
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::size_t s = map.at(i);
    const double quotient = rounded(static_cast<double>(from[i]) / static_cast<double>(scales[s]), precision);
    store_quantized(y, i, quotient, zeros.empty() ? 0 : zeros[s]);
  }
  return {};
}

Status run_dequantize(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(const Tensor* scale, call.input(1));
  const Tensor* zero = call.optional(2);
  if (zero != nullptr && (zero->dtype() != x->dtype() || zero->elements() != scale->elements()))
    return call.fault(2, tensor_text(*zero), fmt::format("{} {}", dtype_name(x->dtype()), shape_text(scale->shape())));
  CALKIT_TRY(const DType dtype, attribute_type(call, "output_dtype", scale->dtype()));
  if (!has_type(kFloat16Types, dtype)) return call.fault(1, tensor_text(*scale), types_text(kFloat16Types));
  CALKIT_TRY(const ScaleMap map, ScaleMap::of(call, *x, *scale));
  CALKIT_TRY(const auto zeros, zero != nullptr ? zero_points(*zero) : Shape());
  CALKIT_TRY(const auto values, zero_points(*x));
  CALKIT_TRY(Tensor y, call.out(0, dtype, x->shape()));
  CALKIT_TRY(const auto scales, to_floats(*scale));
  CALKIT_TRY(Tensor wide, Tensor::zeros(DType::kF32, x->shape()));
  auto to = wide.mutable_data<float>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t s = map.at(i);
    to[i] = static_cast<float>(values[i] - (zeros.empty() ? 0 : zeros[s])) * scales[s];
  }
  if (dtype != DType::kF32) return narrow_into(wide, y);
  std::copy(to.begin(), to.end(), y.mutable_data<float>().begin());
  return {};
}

// U8 over the range of the values and zero.
Status run_dynamic_quantize(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  float low = 0, high = 0;
  for (const float value : x->data<float>()) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const float scale = high == low ? 1.0f / 255.0f : (high - low) / 255.0f;
  const float zero = std::nearbyint(std::clamp(0.0f - low / scale, 0.0f, 255.0f));
  CALKIT_TRY(Tensor y, call.out(0, DType::kU8, x->shape()));
  CALKIT_TRY(Tensor scale_out, call.out(1, DType::kF32, {}));
  CALKIT_TRY(Tensor zero_out, call.out(2, DType::kU8, {}));
  scale_out.mutable_data<float>()[0] = scale;
  zero_out.mutable_data<std::uint8_t>()[0] = static_cast<std::uint8_t>(zero);
  const auto from = x->data<float>();
  for (std::size_t i = 0; i < from.size(); ++i)
    store_quantized(y, i, static_cast<double>(from[i] / scale), static_cast<std::int64_t>(zero));
  return {};
}

}  // namespace

void register_quantize(Registry& registry) {
  registry[":QuantizeLinear"] = {
      .min_inputs = 2,
      .max_inputs = 3,
      .attributes = {"axis=i>=13", "saturate=i>=19", "block_size=i>=21", "output_dtype=i>=21", "precision=i>=23"},
      .run = &run_quantize,
      .types = kFloat16Types | kTypeI32,
      .native = kFloat16Types | kTypeI32,
      .since = 10};
  registry[":DequantizeLinear"] = {.min_inputs = 2,
                                   .max_inputs = 3,
                                   .attributes = {"axis=i>=13", "block_size=i>=21", "output_dtype=i>=23"},
                                   .run = &run_dequantize,
                                   .types = kQuantized | kTypeI32,
                                   .native = kQuantized | kTypeI32,
                                   .since = 10};
  registry[":DynamicQuantizeLinear"] = {.min_inputs = 1,
                                        .max_inputs = 1,
                                        .run = &run_dynamic_quantize,
                                        .types = kTypeF32,
                                        .native = kTypeF32,
                                        .since = 11};
}

}  // namespace calkit::exec
