#pragma once
/// Tensor: dtype, shape and shared, 64-byte aligned (when owned) row-major storage. Copying a Tensor shares the bytes.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "calkit/base/result.h"
#include "calkit/tensor/dtype.h"

namespace calkit {

using Shape = std::vector<std::int64_t>;
std::string shape_text(const Shape& shape);  ///< "[1, 17, 256]"

class Tensor {
 public:
  Tensor() = default;  ///< F32, shape [0]
  /// Zeroed owned storage. kInput if an extent is negative or the size overflows; kIncomplete if memory is refused.
  static Result<Tensor> zeros(DType dtype, Shape shape);
  /// Bytes of somebody else (a mapped file, device memory), kept alive by `owner`; must hold the whole tensor.
  /// Writing through mutable_data() of a tensor borrowed from read-only bytes is the caller's fault.
  static Tensor borrow(DType dtype, Shape shape, const std::byte* data, std::shared_ptr<const void> owner);
  template <class T>
  static Tensor of(Shape shape, const std::vector<T>& values);  ///< T: float, double, BF16, bool, (u)int8/32/64

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t dim(std::int64_t axis) const;  ///< negative counts from the end
  std::size_t rank() const { return shape_.size(); }
  std::size_t elements() const;
  std::size_t bytes() const { return elements() * dtype_bytes(dtype_); }

  const std::byte* raw() const { return data_; }
  std::byte* mutable_raw() { return const_cast<std::byte*>(data_); }
  template <class T>
  std::span<const T> data() const {
    return {reinterpret_cast<const T*>(data_), bytes() / sizeof(T)};
  }
  template <class T>
  std::span<T> mutable_data() {
    return {reinterpret_cast<T*>(mutable_raw()), bytes() / sizeof(T)};
  }
  /// The same bytes under another shape with as many elements.
  Tensor reshaped(Shape shape) const;

 private:
  DType dtype_ = DType::kF32;
  Shape shape_ = {0};
  const std::byte* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

/// A copy in another element type: float kinds round to nearest even (from any source, once), float to integer
/// truncates, bool is "not zero". kInput names the first element that an integer type cannot hold; nothing saturates.
Result<Tensor> convert(const Tensor& tensor, DType dtype);
/// All elements as float.
Result<std::vector<float>> to_floats(const Tensor& tensor);

}  // namespace calkit
