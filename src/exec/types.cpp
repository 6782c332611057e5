#include "types.h"

#include <fmt/format.h>

#include <vector>

namespace calkit::exec {

std::string types_text(Types types) {
  std::vector<std::string_view> names;
  for (unsigned i = 0; i <= static_cast<unsigned>(DType::kBool); ++i)
    if (has_type(types, static_cast<DType>(i))) names.push_back(dtype_name(static_cast<DType>(i)));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::optional<DType> wider_type(DType dtype) {
  if (dtype == DType::kF16 || dtype == DType::kBF16) return DType::kF32;
  if (has_type(kNarrowIntegers | kTypeI32, dtype)) return DType::kI64;
  return std::nullopt;
}

Result<Tensor> widened(const Tensor& x) {
  if (x.dtype() == DType::kBF16) return convert(x, DType::kF32);
  if (x.dtype() == DType::kF16) {
    CALKIT_TRY(Tensor y, Tensor::zeros(DType::kF32, x.shape()));
    const auto from = x.data<std::uint16_t>();
    auto to = y.mutable_data<float>();
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = f16_to_float(from[i]);
    return y;
  }
  CALKIT_TRY(Tensor y, Tensor::zeros(DType::kI64, x.shape()));
  visit_integer(x.dtype(), [&]<class T>(T) {
    const auto from = x.data<T>();
    auto to = y.mutable_data<std::int64_t>();
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<std::int64_t>(from[i]);
  });
  return y;
}

Status narrow_into(const Tensor& wide, Tensor& y) {
  if (wide.dtype() == DType::kF32) {
    const auto from = wide.data<float>();
    const bool half = y.dtype() == DType::kF16;
    auto to = y.mutable_data<std::uint16_t>();
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = half ? float_to_f16(from[i]) : to_bf16(from[i]).bits;
    return {};
  }
  visit_integer(y.dtype(), [&]<class T>(T) {
    const auto from = wide.data<std::int64_t>();
    auto to = y.mutable_data<T>();
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<T>(from[i]);
  });
  return {};
}

}  // namespace calkit::exec
