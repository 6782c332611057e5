// TensorProto -> Initializer: values in raw_data, in a typed field, or in an external file.
#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "calkit/base/checked.h"
#include "calkit/base/text.h"
#include "convert.h"

namespace calkit::onnx {
namespace {

constexpr std::uint64_t kSmallBytes = 1024;

Error tensor_error(const std::string& file, const Initializer& tensor, std::string found, std::string allowed,
                   std::string hint = {}) {
  return input_error(file, fmt::format("tensor '{}'", tensor.name), std::move(found), std::move(allowed),
                     std::move(hint));
}

template <class To, class Field>
void copy_field(const Field& field, Tensor& out) {
  auto target = out.mutable_data<To>();
  for (int i = 0; i < field.size(); ++i) target[static_cast<std::size_t>(i)] = static_cast<To>(field.Get(i));
}

// Typed fields: int32_data holds everything of 32 bits or fewer that is no float, BF16 and F16 as their bit patterns.
template <class Visit>
bool with_field(const ::onnx::TensorProto& t, DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::kF32:
      return visit(t.float_data(), float{});
    case DType::kF64:
      return visit(t.double_data(), double{});
    case DType::kI64:
      return visit(t.int64_data(), std::int64_t{});
    case DType::kU64:
      return visit(t.uint64_data(), std::uint64_t{});
    case DType::kU32:
      return visit(t.uint64_data(), std::uint32_t{});
    case DType::kI32:
      return visit(t.int32_data(), std::int32_t{});
    case DType::kI16:
      return visit(t.int32_data(), std::int16_t{});
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16:
      return visit(t.int32_data(), std::uint16_t{});
    case DType::kI8:
      return visit(t.int32_data(), std::int8_t{});
    case DType::kU8:
    case DType::kBool:
      return visit(t.int32_data(), std::uint8_t{});
  }
  return false;
}

struct ExternalEntry {
  std::string location, offset = "0", length;
};
ExternalEntry external_entry(const ::onnx::TensorProto& header) {
  ExternalEntry out;
  for (const auto& pair : header.external_data()) {
    if (pair.key() == "location") out.location = pair.value();
    if (pair.key() == "offset") out.offset = pair.value();
    if (pair.key() == "length") out.length = pair.value();
  }
  return out;
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> ExternalFiles::map(const std::string& location) {
  if (const auto found = maps_.find(location); found != maps_.end()) return found->second;
  if (!root_) {
    CALKIT_TRY(Root opened, Root::open(folder_));
    root_ = std::move(opened);
  }
  CALKIT_TRY(const auto info, root_->stat(location));
  if (info.links > 1)  // its other name may lie outside the folder, as a symbolic link's target may
    return input_error((folder_ / location).string(), {}, fmt::format("a file of {} names (hard links)", info.links),
                       "a file of its own", "copy the weights into the model's folder");
  CALKIT_TRY(auto mapped, root_->map(location));
  maps_[location] = mapped;
  return mapped;
}

Status TensorReader::enough_values(const ::onnx::TensorProto& message, const Initializer& out,
                                   std::uint64_t elements) const {
  using P = ::onnx::TensorProto;
  int found = message.int32_data_size();
  std::uint64_t wanted = out.bytes;  // types of 8 bits or fewer: a byte each
  if (out.type == P::STRING) found = message.string_data_size(), wanted = elements;
  if (out.type == P::COMPLEX64) found = message.float_data_size(), wanted = 2 * elements;
  if (out.type == P::COMPLEX128) found = message.double_data_size(), wanted = 2 * elements;
  if (static_cast<std::uint64_t>(found) >= wanted) return {};
  return tensor_error(file, out, fmt::format("{} values", found),
                      fmt::format("{} for {} {}", wanted, element_type_name(out.type), shape_text(out.dims)));
}

Status TensorReader::inside(Initializer& out, std::optional<Bytes> raw,
                            const std::function<std::optional<::onnx::TensorProto>()>& whole) const {
  const auto dtype = to_dtype(out.type);
  if (raw && out.bytes != 0 && raw->size() != out.bytes)
    return tensor_error(
        file, out, fmt::format("{} bytes of raw_data", raw->size()),
        fmt::format("{} bytes for {} {}", out.bytes, element_type_name(out.type), shape_text(out.dims)));
  const bool keep = options.tensor_data || out.bytes <= kSmallBytes;
  if (raw && (!dtype || !keep)) return {};
  if (raw && raw->size() == out.bytes) {
    CALKIT_TRY(Tensor copy, Tensor::zeros(*dtype, out.dims));
    if (out.bytes != 0) std::memcpy(copy.mutable_raw(), raw->data(), raw->size());
    out.data = std::move(copy);
    return {};
  }
  const auto message = whole();
  if (!message) return tensor_error(file, out, "damaged bytes", "a TensorProto");
  const auto elements = checked_product(out.dims).value_or(0);
  if (!dtype) return enough_values(*message, out, elements);
  Status status;
  const auto read_field = [&](const auto& field, auto kind) {
    if (static_cast<std::uint64_t>(field.size()) != elements) {
      status = tensor_error(file, out, fmt::format("{} values", field.size()),
                            fmt::format("{} for the shape {}", elements, shape_text(out.dims)));
      return false;
    }
    if (!keep) return true;
    auto made = Tensor::zeros(*dtype, out.dims);
    if (!made.ok()) {
      status = std::move(made).error();
      return false;
    }
    copy_field<decltype(kind)>(field, *made);
    out.data = std::move(*made);
    return true;
  };
  with_field(*message, *dtype, read_field);
  return status;
}

Status TensorReader::outside(Initializer& out, const ::onnx::TensorProto& header) const {
  const ExternalEntry entry = external_entry(header);
  out.location = invalid_utf8_at(entry.location) == std::string::npos ? entry.location : printable(entry.location);
  const auto fault = [&](std::string found, std::string allowed) {
    return tensor_error(file, out, fmt::format("external data '{}': {}", printable(entry.location, 200), found),
                        std::move(allowed));
  };
  const auto offset = parse_decimal_u64(entry.offset);
  if (!offset) return fault("offset " + printable(entry.offset), "a whole number of bytes, 0 or more");
  const auto length = entry.length.empty() ? std::optional<std::uint64_t>(out.bytes) : parse_decimal_u64(entry.length);
  if (!length) return fault("length " + printable(entry.length), "a whole number of bytes, 0 or more");
  out.offset = *offset;
  out.length = *length;
  if (const std::string reason = unsafe_path_reason(entry.location); !reason.empty())
    return fault(reason, "a relative path inside the model's folder");
  if (out.bytes != 0 && *length != out.bytes)
    return fault(fmt::format("length {}", *length),
                 fmt::format("{} bytes for {} {}", out.bytes, element_type_name(out.type), shape_text(out.dims)));
  if (!options.external_data || !external) return {};
  auto mapped = external->map(entry.location);
  if (!mapped.ok()) return fault(mapped.error().message, "a readable file in the model's folder");
  const auto& bytes = *mapped;
  if (!range_inside(*offset, *length, bytes->size()))
    return fault(fmt::format("bytes {} to {}", *offset, checked_add(*offset, *length).value_or(UINT64_MAX)),
                 fmt::format("a range inside the file's {} bytes", bytes->size()));
  const auto dtype = to_dtype(out.type);
  if (!dtype || (!options.tensor_data && out.bytes > kSmallBytes)) return {};
  const std::byte* data = bytes->bytes().data() + *offset;
  if (reinterpret_cast<std::uintptr_t>(data) % dtype_bytes(*dtype) == 0) {
    out.data = Tensor::borrow(*dtype, out.dims, data, bytes);
    return {};
  }
  CALKIT_TRY(Tensor copy, Tensor::zeros(*dtype, out.dims));
  if (out.bytes != 0) std::memcpy(copy.mutable_raw(), data, static_cast<std::size_t>(out.bytes));
  out.data = std::move(copy);
  return {};
}

Result<Initializer> TensorReader::read(const ::onnx::TensorProto& header, std::optional<Bytes> raw,
                                       const std::function<std::optional<::onnx::TensorProto>()>& whole) const {
  Initializer out;
  out.name = header.name();
  out.type = header.data_type();
  out.dims.assign(header.dims().begin(), header.dims().end());
  const auto elements = checked_product(out.dims, 1);
  // 16 bytes is the widest element; a product that overflows with it is no size of a real tensor.
  if (!elements || !checked_mul<std::uint64_t>(*elements, 16))
    return tensor_error(file, out, "dims " + shape_text(out.dims), "extents of 0 or more whose product is a size");
  out.bytes = onnx::packed_bytes(out.type, *elements);
  const bool external_data = header.data_location() == ::onnx::TensorProto::EXTERNAL;
  Status status = external_data ? outside(out, header) : inside(out, raw, whole);
  if (!status.ok() && problems) {
    problems->push_back(status.error().message);
  } else if (!status.ok()) {
    return std::move(status).error();
  }
  return out;
}

Result<Initializer> TensorReader::read(const ::onnx::TensorProto& tensor) const {
  std::optional<Bytes> raw;
  if (tensor.has_raw_data()) raw = std::as_bytes(std::span(tensor.raw_data().data(), tensor.raw_data().size()));
  return read(tensor, raw, [&] { return std::optional(tensor); });
}

}  // namespace calkit::onnx
