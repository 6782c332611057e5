#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "calkit/base/process.h"
#include "calkit/hf/checkpoint.h"

namespace calkit::hf {
namespace {

/// Index of the first element whose exponent bits are all ones (NaN or infinity), or `count`.
template <class Word>
std::size_t first_non_finite(const std::byte* data, std::size_t count, Word exponent) {
  constexpr std::size_t kBlock = 4096;
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t end = std::min(count, begin + kBlock);
    unsigned found = 0;
    for (std::size_t i = begin; i < end; ++i) {  // no early exit: this loop becomes vector code
      Word word;
      std::memcpy(&word, data + i * sizeof word, sizeof word);
      found |= static_cast<unsigned>((word & exponent) == exponent);
    }
    if (found == 0) continue;
    for (std::size_t i = begin; i < end; ++i) {
      Word word;
      std::memcpy(&word, data + i * sizeof word, sizeof word);
      if ((word & exponent) == exponent) return i;
    }
  }
  return count;
}

std::size_t first_non_finite(const Tensor& tensor) {
  const std::size_t count = tensor.elements();
  switch (tensor.dtype()) {
    case DType::kF32:
      return first_non_finite<std::uint32_t>(tensor.raw(), count, 0x7f800000u);
    case DType::kF64:
      return first_non_finite<std::uint64_t>(tensor.raw(), count, 0x7ff0000000000000ull);
    case DType::kF16:
      return first_non_finite<std::uint16_t>(tensor.raw(), count, std::uint16_t{0x7c00});
    case DType::kBF16:
      return first_non_finite<std::uint16_t>(tensor.raw(), count, std::uint16_t{0x7f80});
    default:
      return count;  // integers are finite
  }
}

std::string element_place(const Shape& shape, std::size_t index) {
  Shape place(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const auto extent = static_cast<std::size_t>(shape[axis]);
    place[axis] = static_cast<std::int64_t>(index % extent);
    index /= extent;
  }
  return shape_text(place);
}

}  // namespace

Status Checkpoint::check_finite() const {
  for (const TensorInfo& info : tensors_) {
    if (interrupted()) return interrupted_error();
    CALKIT_TRY(const Tensor values, tensor(info.name));
    const std::size_t at = first_non_finite(values);
    if (at < values.elements())
      return input_error((dir_ / info.file).string(),
                         fmt::format("tensor '{}' element {}", info.name, element_place(info.shape, at)),
                         "NaN or infinity", "finite numbers", "the weights are damaged or the training diverged");
    release(info.name);
  }
  return {};
}

}  // namespace calkit::hf
