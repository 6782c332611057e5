#include "calkit/hf/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "weights.h"

namespace calkit::hf {
namespace {

Result<std::vector<TensorInfo>> typed(const RawHeader& header, const std::string& name, std::string_view shown) {
  std::vector<TensorInfo> out;
  for (const RawTensor& raw : header.tensors) {
    const auto dtype = dtype_from_safetensors(raw.dtype);
    if (!dtype)
      return input_error(shown, fmt::format("tensor '{}'", raw.name), fmt::format("dtype {}", raw.dtype),
                         "F32, F64, F16, BF16, I8, U8, I16, U16, I32, U32, I64, U64, BOOL",
                         "save the model unquantised, in bfloat16 or float32");
    out.push_back({raw.name, *dtype, raw.shape, name, raw.begin, raw.end - raw.begin});
  }
  return out;
}

}  // namespace

Result<std::vector<TensorInfo>> parse_safetensors(std::span<const std::byte> bytes, std::string_view file) {
  CALKIT_TRY(const RawHeader header, parse_raw_header(bytes, file));
  return typed(header, std::string(file), file);
}

Result<Checkpoint> Checkpoint::open(const std::filesystem::path& model_dir) {
  CALKIT_TRY(const ModelDir dir, ModelDir::open(model_dir));
  CALKIT_TRY(Weights weights, open_weights(dir));
  Checkpoint out;
  out.dir_ = model_dir;
  out.notes_ = std::move(weights.notes);
  for (const WeightFile& file : weights.files) {
    CALKIT_TRY(std::vector<TensorInfo> tensors, typed(file.header, file.name, dir.shown(file.name)));
    std::move(tensors.begin(), tensors.end(), std::back_inserter(out.tensors_));
    out.files_.push_back(file.name);
    out.maps_.push_back(file.map);
  }
  std::sort(out.tensors_.begin(), out.tensors_.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

const TensorInfo* Checkpoint::find(std::string_view name) const {
  const auto at = std::lower_bound(tensors_.begin(), tensors_.end(), name,
                                   [](const TensorInfo& info, std::string_view n) { return info.name < n; });
  return at != tensors_.end() && at->name == name ? &*at : nullptr;
}

const std::shared_ptr<const MappedFile>& Checkpoint::map_of(const TensorInfo& info) const {
  const auto at = std::lower_bound(files_.begin(), files_.end(), info.file);
  return maps_[static_cast<std::size_t>(at - files_.begin())];
}

Result<Tensor> Checkpoint::tensor(std::string_view name) const {
  const TensorInfo* info = find(name);
  if (info == nullptr)
    return input_error(dir_.string(), fmt::format("tensor '{}'", name), "absent", "one of the checkpoint's tensors");
  const auto& map = map_of(*info);
  const std::byte* data = map->bytes().data() + info->offset;
  if (reinterpret_cast<std::uintptr_t>(data) % dtype_bytes(info->dtype) == 0)
    return Tensor::borrow(info->dtype, info->shape, data, map);
  CALKIT_TRY(Tensor copy, Tensor::zeros(info->dtype, info->shape));
  std::memcpy(copy.mutable_raw(), data, info->bytes);
  return copy;
}

void Checkpoint::release(std::string_view name) const {
  if (const TensorInfo* info = find(name)) map_of(*info)->release(info->offset, info->bytes);
}

std::uint64_t Checkpoint::weight_bytes() const {
  std::uint64_t total = 0;
  for (const TensorInfo& info : tensors_) total += info.bytes;
  return total;
}

}  // namespace calkit::hf
