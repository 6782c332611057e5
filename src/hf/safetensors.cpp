#include "safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "calkit/base/checked.h"
#include "calkit/base/document.h"

namespace calkit::hf {
namespace {

constexpr std::uint64_t kMaxHeader = 100'000'000;  // the format's own limit
constexpr std::size_t kMaxRank = 16;
constexpr std::size_t kMaxName = 1024;
constexpr std::string_view kLfs = "version https://git-lfs.github.com/spec/";

struct Kind {
  std::string_view name;
  std::uint64_t bits;
};
// Every dtype of safetensors 0.8.
constexpr std::array<Kind, 22> kKinds = {
    {{"BOOL", 8},        {"U8", 8},          {"I8", 8},      {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8},
     {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
     {"I32", 32},        {"U32", 32},        {"F32", 32},    {"I64", 64},    {"U64", 64},    {"F64", 64},
     {"C64", 64},        {"F4", 4},          {"F6_E2M3", 6}, {"F6_E3M2", 6}}};

std::optional<std::uint64_t> bits_of(std::string_view dtype) {
  for (const Kind& kind : kKinds)
    if (kind.name == dtype) return kind.bits;
  return std::nullopt;
}

Error lfs_error(std::string_view text, std::string_view file) {
  std::string size = "unknown";
  if (const std::size_t at = text.find("\nsize "); at != std::string_view::npos)
    size = std::string(text.substr(at + 6, text.find('\n', at + 6) - at - 6)).substr(0, 20);
  return input_error(file, {}, fmt::format("a Git LFS pointer of {} bytes", text.size()),
                     fmt::format("the real file of {} bytes", size), "run `git lfs pull` in the model's clone");
}

/// The header's JSON text, if the length word and the file's size agree.
Result<std::string_view> header_text(std::span<const std::byte> bytes, std::string_view file) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with(kLfs)) return lfs_error(text, file);
  if (bytes.size() < 8)
    return input_error(file, {}, fmt::format("{} bytes", bytes.size()),
                       "a safetensors file (8 bytes of header length first)",
                       "the file is empty or cut; download it again");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  const std::uint64_t most = std::min<std::uint64_t>(kMaxHeader, bytes.size() - 8);
  if (length < 2 || length > most)
    return input_error(
        file, "header length", fmt::format("{}", length),
        fmt::format("2 to {} (the file has {} bytes; a header has at most {})", most, bytes.size(), kMaxHeader),
        "the file is cut or is no safetensors file");
  if (text[8] != '{')
    return input_error(file, "header", fmt::format("byte {:#04x} first", static_cast<unsigned char>(text[8])), "'{'");
  return text.substr(8, length);
}

Status check_metadata(const Cursor& at) {
  CALKIT_TRY(const auto members, at.members());
  for (const auto& [key, value] : members) CALKIT_CHECK_OK(value.as_string());
  return {};
}

Status check_name(const Cursor& at, const std::string& name) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (name.empty() || name.size() > kMaxName || std::any_of(name.begin(), name.end(), control))
    return at.error(fmt::format("a tensor name of {} bytes or with control characters", name.size()),
                    fmt::format("1 to {} bytes of plain text", kMaxName));
  return {};
}

Result<RawTensor> read_tensor(const Cursor& at, const std::string& name, std::uint64_t data_at,
                              std::uint64_t data_bytes) {
  CALKIT_CHECK_OK(check_name(at, name));
  CALKIT_CHECK_OK(at.only({"dtype", "shape", "data_offsets"}));
  RawTensor out;
  out.name = name;
  CALKIT_TRY(const Cursor dtype_at, at.at("dtype"));
  CALKIT_TRY(out.dtype, dtype_at.as_string());
  const auto bits = bits_of(out.dtype);
  if (!bits)
    return dtype_at.error(dtype_at.value().describe(), "a safetensors dtype: F32, F16, BF16, F64, I8, U8, ...");
  CALKIT_TRY(const Cursor shape_at, at.at("shape"));
  CALKIT_TRY(const auto extents, shape_at.items());
  if (extents.size() > kMaxRank)
    return shape_at.error(fmt::format("{} dimensions", extents.size()), fmt::format("at most {}", kMaxRank));
  for (const Cursor& extent : extents) {
    CALKIT_TRY(const std::int64_t value, extent.as_int(0));
    out.shape.push_back(value);
  }
  CALKIT_TRY(const Cursor offsets_at, at.at("data_offsets"));
  CALKIT_TRY(const auto offsets, offsets_at.items());
  if (offsets.size() != 2) return offsets_at.error(fmt::format("{} numbers", offsets.size()), "[begin, end]");
  CALKIT_TRY(const std::uint64_t begin, offsets[0].as_uint());
  CALKIT_TRY(const std::uint64_t end, offsets[1].as_uint());
  if (begin > end || end > data_bytes)
    return offsets_at.error(fmt::format("[{}, {}]", begin, end),
                            fmt::format("begin <= end <= {}, the bytes of data in the file", data_bytes),
                            "the file is cut or damaged; download it again");
  const auto elements = checked_product(out.shape);
  const auto total_bits = elements ? checked_mul(*elements, *bits) : std::nullopt;
  if (!total_bits || *total_bits % 8 != 0 || *total_bits / 8 != end - begin)
    return shape_at.error(fmt::format("{} of {}", shape_text(out.shape), out.dtype),
                          fmt::format("the {} bytes that data_offsets name", end - begin));
  out.elements = *elements;
  out.begin = data_at + begin;
  out.end = data_at + end;
  return out;
}

/// The tensors must tile the data: sorted by place, each begins where the one before ended.
Status check_tiling(const std::vector<RawTensor>& tensors, std::uint64_t data_at, std::uint64_t size,
                    std::string_view file) {
  std::vector<const RawTensor*> order;
  for (const RawTensor& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const RawTensor* a, const RawTensor* b) {
    return a->begin != b->begin ? a->begin < b->begin : a->end < b->end;
  });
  std::uint64_t at = data_at;
  const RawTensor* before = nullptr;
  for (const RawTensor* tensor : order) {
    const std::string where = fmt::format("tensor '{}'", tensor->name);
    if (tensor->begin < at)
      return input_error(file, where,
                         fmt::format("bytes {} to {}, shared with tensor '{}'", tensor->begin - data_at,
                                     tensor->end - data_at, before->name),
                         fmt::format("a begin at {}", at - data_at), "two tensors must not share bytes");
    if (tensor->begin > at)
      return input_error(file, where, fmt::format("a begin at {}", tensor->begin - data_at),
                         fmt::format("{}; the {} bytes between belong to no tensor", at - data_at, tensor->begin - at));
    at = tensor->end;
    before = tensor;
  }
  if (at != size)
    return input_error(file, "data", fmt::format("{} bytes behind the last tensor", size - at), "none",
                       "the file was appended to or its header is not its own");
  return {};
}

}  // namespace

Result<RawHeader> parse_raw_header(std::span<const std::byte> bytes, std::string_view file) {
  CALKIT_TRY(const std::string_view text, header_text(bytes, file));
  const std::string frame = "reading the safetensors header";
  CALKIT_TRY(const Value header, parse_json(text, file, {.max_bytes = kMaxHeader, .max_depth = 8}), frame);
  const Cursor root(header, std::string(file));
  CALKIT_TRY(const auto members, root.members(), frame);
  RawHeader out;
  out.bytes = 8 + text.size();
  for (const auto& [name, at] : members) {
    if (name == "__metadata__") {
      CALKIT_CHECK_OK(check_metadata(at), frame);
      continue;
    }
    CALKIT_TRY(RawTensor tensor, read_tensor(at, name, out.bytes, bytes.size() - out.bytes), frame);
    out.tensors.push_back(std::move(tensor));
  }
  CALKIT_CHECK_OK(check_tiling(out.tensors, out.bytes, bytes.size(), file));
  std::sort(out.tensors.begin(), out.tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

}  // namespace calkit::hf
