#include "calkit/tensor/tensor.h"

#include <fmt/format.h>

#include <cassert>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "calkit/base/checked.h"

namespace calkit {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::uint64_t kMostBytes = 1ull << 39;  // no host has more; the allocator is not even asked

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::kF32;
  if constexpr (std::is_same_v<T, double>) return DType::kF64;
  if constexpr (std::is_same_v<T, BF16>) return DType::kBF16;
  if constexpr (std::is_same_v<T, bool>) return DType::kBool;
  if constexpr (std::is_same_v<T, std::int8_t>) return DType::kI8;
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::kU8;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::kI32;
  if constexpr (std::is_same_v<T, std::uint32_t>) return DType::kU32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::kI64;
  if constexpr (std::is_same_v<T, std::uint64_t>) return DType::kU64;
}

template <class T>
T load_as(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void store_as(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

// long double holds every 64-bit integer and every double exactly, so one path converts all pairs of types.
long double load(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::kF32:
      return load_as<float>(at);
    case DType::kF64:
      return load_as<double>(at);
    case DType::kF16:
      return f16_to_float(load_as<std::uint16_t>(at));
    case DType::kBF16:
      return to_float(load_as<BF16>(at));
    case DType::kI8:
      return load_as<std::int8_t>(at);
    case DType::kU8:
      return load_as<std::uint8_t>(at);
    case DType::kI16:
      return load_as<std::int16_t>(at);
    case DType::kU16:
      return load_as<std::uint16_t>(at);
    case DType::kI32:
      return load_as<std::int32_t>(at);
    case DType::kU32:
      return load_as<std::uint32_t>(at);
    case DType::kI64:
      return static_cast<long double>(load_as<std::int64_t>(at));
    case DType::kU64:
      return static_cast<long double>(load_as<std::uint64_t>(at));
    case DType::kBool:
      return load_as<std::uint8_t>(at) != 0 ? 1 : 0;
  }
  return 0;
}

// An f32 that still rounds correctly when it is rounded once more to 8 or 11 bits: inexact values get an odd last bit.
float float_round_to_odd(long double value) {
  const float nearest = static_cast<float>(value);
  if (!std::isfinite(nearest) || static_cast<long double>(nearest) == value) return nearest;
  const bool beyond = std::fabs(static_cast<long double>(nearest)) > std::fabs(value);
  const float towards_zero = beyond ? std::nextafter(nearest, 0.0f) : nearest;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(towards_zero) | 1u);
}

template <class T>
bool store_integer(std::byte* at, long double value) {
  const long double whole = std::trunc(value);
  if (!(whole >= static_cast<long double>(std::numeric_limits<T>::min()) &&
        whole <= static_cast<long double>(std::numeric_limits<T>::max())))
    return false;  // NaN fails both comparisons
  store_as<T>(at, static_cast<T>(whole));
  return true;
}

bool store(DType dtype, std::byte* at, long double value) {
  switch (dtype) {
    case DType::kF32:
      store_as(at, static_cast<float>(value));
      return true;
    case DType::kF64:
      store_as(at, static_cast<double>(value));
      return true;
    case DType::kF16:
      store_as(at, float_to_f16(float_round_to_odd(value)));
      return true;
    case DType::kBF16:
      store_as(at, to_bf16(float_round_to_odd(value)));
      return true;
    case DType::kI8:
      return store_integer<std::int8_t>(at, value);
    case DType::kU8:
      return store_integer<std::uint8_t>(at, value);
    case DType::kI16:
      return store_integer<std::int16_t>(at, value);
    case DType::kU16:
      return store_integer<std::uint16_t>(at, value);
    case DType::kI32:
      return store_integer<std::int32_t>(at, value);
    case DType::kU32:
      return store_integer<std::uint32_t>(at, value);
    case DType::kI64:
      return store_integer<std::int64_t>(at, value);
    case DType::kU64:
      return store_integer<std::uint64_t>(at, value);
    case DType::kBool:
      store_as<std::uint8_t>(at, value != 0 ? 1 : 0);
      return true;
  }
  return false;
}

void widen_bf16(const std::byte* from, std::byte* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) store_as(to + 4 * i, to_float(load_as<BF16>(from + 2 * i)));
}

void narrow_bf16(const std::byte* from, std::byte* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) store_as(to + 2 * i, to_bf16(load_as<float>(from + 4 * i)));
}

}  // namespace

std::string shape_text(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Result<Tensor> Tensor::zeros(DType dtype, Shape shape) {
  const auto bytes = checked_product(shape, dtype_bytes(dtype));
  if (!bytes || *bytes > static_cast<std::uint64_t>(PTRDIFF_MAX))
    return Error{ErrorKind::kInput, fmt::format("a {} tensor of shape {} has a negative extent or does not fit 63 bits",
                                                dtype_name(dtype), shape_text(shape))};
  // calloc hands out large blocks as untouched zero pages; the block is over-allocated to align it.
  std::shared_ptr<void> block;
  if (*bytes <= kMostBytes) block.reset(std::calloc(*bytes + kAlignment, 1), std::free);
  if (!block)
    return Error{ErrorKind::kIncomplete, fmt::format("no memory for a {} tensor of shape {} ({} bytes)",
                                                     dtype_name(dtype), shape_text(shape), *bytes)};
  const auto address = reinterpret_cast<std::uintptr_t>(block.get());
  const std::size_t shift = (kAlignment - address % kAlignment) % kAlignment;
  return borrow(dtype, std::move(shape), static_cast<const std::byte*>(block.get()) + shift, block);
}

Tensor Tensor::borrow(DType dtype, Shape shape, const std::byte* data, std::shared_ptr<const void> owner) {
  Tensor out;
  out.dtype_ = dtype;
  out.shape_ = std::move(shape);
  out.data_ = data;
  out.owner_ = std::move(owner);
  return out;
}

template <class T>
Tensor Tensor::of(Shape shape, const std::vector<T>& values) {
  Result<Tensor> made = zeros(dtype_of<T>(), std::move(shape));
  assert(made.ok() && made->elements() == values.size());
  Tensor out = std::move(made).value();
  for (std::size_t i = 0; i < values.size(); ++i) store_as<T>(out.mutable_raw() + i * sizeof(T), values[i]);
  return out;
}
template Tensor Tensor::of(Shape, const std::vector<float>&);
template Tensor Tensor::of(Shape, const std::vector<double>&);
template Tensor Tensor::of(Shape, const std::vector<BF16>&);
template Tensor Tensor::of(Shape, const std::vector<bool>&);
template Tensor Tensor::of(Shape, const std::vector<std::int8_t>&);
template Tensor Tensor::of(Shape, const std::vector<std::uint8_t>&);
template Tensor Tensor::of(Shape, const std::vector<std::int32_t>&);
template Tensor Tensor::of(Shape, const std::vector<std::uint32_t>&);
template Tensor Tensor::of(Shape, const std::vector<std::int64_t>&);
template Tensor Tensor::of(Shape, const std::vector<std::uint64_t>&);

std::int64_t Tensor::dim(std::int64_t axis) const {
  const auto rank = static_cast<std::int64_t>(shape_.size());
  const std::int64_t at = axis < 0 ? axis + rank : axis;
  assert(at >= 0 && at < rank);
  return shape_[static_cast<std::size_t>(at)];
}

std::size_t Tensor::elements() const {
  std::size_t count = 1;
  for (const std::int64_t extent : shape_) count *= static_cast<std::size_t>(extent);
  return count;
}

Tensor Tensor::reshaped(Shape shape) const {
  Tensor out = *this;
  out.shape_ = std::move(shape);
  assert(out.elements() == elements());
  return out;
}

Result<Tensor> convert(const Tensor& tensor, DType dtype) {
  CALKIT_TRY(Tensor out, Tensor::zeros(dtype, tensor.shape()));
  const DType from = tensor.dtype();
  const std::size_t count = tensor.elements();
  const std::byte* source = tensor.raw();
  std::byte* target = out.mutable_raw();
  if (from == dtype) {
    if (count != 0) std::memcpy(target, source, tensor.bytes());
    return out;
  }
  if (from == DType::kBF16 && dtype == DType::kF32) {
    widen_bf16(source, target, count);
    return out;
  }
  if (from == DType::kF32 && dtype == DType::kBF16) {
    narrow_bf16(source, target, count);
    return out;
  }
  const std::size_t step_in = dtype_bytes(from);
  const std::size_t step_out = dtype_bytes(dtype);
  for (std::size_t i = 0; i < count; ++i) {
    const long double value = load(from, source + i * step_in);
    if (!store(dtype, target + i * step_out, value))
      return Error{ErrorKind::kInput, fmt::format("element {} is {}, which {} cannot hold", i,
                                                  static_cast<double>(value), dtype_name(dtype))};
  }
  return out;
}

Result<std::vector<float>> to_floats(const Tensor& tensor) {
  if (tensor.dtype() == DType::kF32) {
    std::vector<float> out(tensor.elements());
    if (!out.empty()) std::memcpy(out.data(), tensor.raw(), tensor.bytes());
    return out;
  }
  CALKIT_TRY(const Tensor widened, convert(tensor, DType::kF32));
  const auto values = widened.data<float>();
  return std::vector<float>(values.begin(), values.end());
}

}  // namespace calkit
