#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "calkit/base/process.h"
#include "calkit/hf/checkpoint.h"

namespace calkit::hf {
namespace {

constexpr const char* kHead = "lm_head.weight";
constexpr const char* kEmbedding = "model.embed_tokens.weight";

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

Status Checkpoint::check_against(const ModelSpec& spec) const {
  const std::string dir = dir_.string();
  const std::vector<ExpectedTensor> expected = expected_tensors(spec);
  const auto fault = [&](const TensorInfo& info, std::string found, std::string allowed, std::string hint = {}) {
    return input_error((dir_ / info.file).string(), fmt::format("tensor '{}'", info.name), found, allowed,
                       std::move(hint));
  };
  for (const ExpectedTensor& want : expected) {
    const TensorInfo* info = find(want.name);
    if (info == nullptr)
      return input_error(dir, fmt::format("tensor '{}'", want.name), "absent from the checkpoint",
                         fmt::format("shape {}, as config.json asks for", shape_text(want.shape)),
                         want.name == kHead
                             ? "with tie_word_embeddings true the head is the embedding; is config.json right?"
                             : "the checkpoint is not complete or config.json belongs to another model");
    if (info->shape != want.shape)
      return fault(*info, fmt::format("shape {}", shape_text(info->shape)),
                   fmt::format("{}, as config.json asks for", shape_text(want.shape)));
    if (info->dtype != spec.weight_dtype)
      return fault(*info, fmt::format("dtype {}", safetensors_name(info->dtype)),
                   fmt::format("{}, the dtype of config.json", safetensors_name(spec.weight_dtype)),
                   "save the whole model in one element type");
  }
  std::set<std::string_view> known;
  for (const ExpectedTensor& want : expected) known.insert(want.name);
  for (const TensorInfo& info : tensors_) {
    if (known.contains(info.name)) continue;
    if (info.name != kHead || !spec.tied_embeddings)
      return fault(info, "a tensor that the architecture does not use",
                   fmt::format("the {} tensors of {}", expected.size(), spec.model_type),
                   "what it does to the model is unknown, so it is not dropped; is config.json of the same model?");
    const TensorInfo* embedding = find(kEmbedding);
    CALKIT_TRY(const Tensor head, tensor(kHead));
    CALKIT_TRY(const Tensor rows, tensor(kEmbedding));
    if (info.dtype != embedding->dtype || info.shape != embedding->shape ||
        std::memcmp(head.raw(), rows.raw(), rows.bytes()) != 0)
      return fault(info, fmt::format("values that differ from {}", kEmbedding),
                   "equal bytes, since tie_word_embeddings is true",
                   "which of the two is the head is not stated: fix tie_word_embeddings or remove the tensor");
    release(kHead);
    release(kEmbedding);
  }
  return {};
}

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
