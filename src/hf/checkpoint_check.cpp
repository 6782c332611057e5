#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "calkit/hf/checkpoint.h"
#include "calkit/hf/rope.h"

namespace calkit::hf {
namespace {

constexpr const char* kHead = "lm_head.weight";
constexpr const char* kEmbedding = "model.embed_tokens.weight";

bool widens_to_float(DType dtype) {
  return dtype == DType::kBF16 || dtype == DType::kF16 || dtype == DType::kF32;
}

/// Old saves hold the frequencies of RoPE as a buffer; nobody reads them any more.
bool is_frequency_buffer(std::string_view name) {
  return name.ends_with(".rotary_emb.inv_freq");
}

Error absent(const std::string& dir, const ExpectedTensor& want) {
  return input_error(dir, fmt::format("tensor '{}'", want.name), "absent from the checkpoint",
                     fmt::format("shape {}, as config.json asks for", shape_text(want.shape)),
                     want.name == kHead
                         ? "with tie_word_embeddings true the head is the embedding; is config.json right?"
                         : "the checkpoint is not complete or config.json belongs to another model");
}

Error fault(const std::filesystem::path& dir, const TensorInfo& info, std::string found, std::string allowed,
            std::string hint = {}) {
  return input_error((dir / info.file).string(), fmt::format("tensor '{}'", info.name), found, allowed,
                     std::move(hint));
}

Status check_tensor(const std::filesystem::path& dir, const TensorInfo& info, const ExpectedTensor& want) {
  if (info.shape != want.shape)
    return fault(dir, info, fmt::format("shape {}", shape_text(info.shape)),
                 fmt::format("{}, as config.json asks for", shape_text(want.shape)));
  if (!widens_to_float(info.dtype))
    return fault(dir, info, fmt::format("dtype {}", safetensors_name(info.dtype)), "BF16, F16 or F32",
                 "save the model in one of them: every value must widen to F32 without loss");
  return {};
}

Status check_head(const Checkpoint& checkpoint, const std::filesystem::path& dir, const TensorInfo& info) {
  CALKIT_TRY(const Tensor head, checkpoint.tensor(kHead));
  CALKIT_TRY(const Tensor rows, checkpoint.tensor(kEmbedding));
  if (head.dtype() != rows.dtype() || head.shape() != rows.shape() ||
      std::memcmp(head.raw(), rows.raw(), rows.bytes()) != 0)
    return fault(dir, info, fmt::format("values that differ from {}", kEmbedding),
                 "equal bytes, since tie_word_embeddings is true",
                 "which of the two is the head is not stated: fix tie_word_embeddings or remove the tensor");
  checkpoint.release(kHead);
  checkpoint.release(kEmbedding);
  return {};
}

bool is_like(const Tensor& stored, const std::vector<float>& frequencies) {
  if (stored.elements() != frequencies.size()) return false;
  const auto values = convert(stored, DType::kF32);
  if (!values.ok()) return false;
  const float slack = stored.dtype() == DType::kF32 ? 1e-6f : 1e-2f;
  return std::equal(frequencies.begin(), frequencies.end(), values->data<float>().begin(),
                    [&](float want, float got) { return std::abs(got - want) <= slack * want; });
}

void note_buffers(const Checkpoint& checkpoint, const ModelSpec& spec, std::vector<std::string>& out) {
  std::size_t count = 0, alike = 0;
  const std::vector<float> frequencies = inverse_frequencies(spec);
  for (const TensorInfo& info : checkpoint.tensors()) {
    if (!is_frequency_buffer(info.name)) continue;
    ++count;
    if (const auto stored = checkpoint.tensor(info.name); stored.ok()) alike += is_like(*stored, frequencies);
  }
  if (count == 0) return;
  out.push_back(fmt::format(
      "{} rotary_emb.inv_freq tensor{} stored and not used, as in Transformers: the frequencies "
      "follow from config.json, {} equal to them",
      count, count == 1 ? " is" : "s are", alike == count ? "and the stored ones are" : "and the stored ones are not"));
}

/// Element types that config.json does not state. Every value is used as it is stored.
void note_types(const Checkpoint& checkpoint, const ModelSpec& spec, std::vector<std::string>& out) {
  std::map<std::string_view, std::size_t> counts;
  bool differs = false;
  for (const ExpectedTensor& want : expected_tensors(spec))
    if (const TensorInfo* info = checkpoint.find(want.name)) {
      ++counts[safetensors_name(info->dtype)];
      differs |= info->dtype != spec.weight_dtype;
    }
  if (!differs) return;
  std::string list;
  for (const auto& [name, count] : counts) list += fmt::format("{}{} in {}", list.empty() ? "" : ", ", count, name);
  out.push_back(fmt::format("config.json states {}, of the tensors are {}; each is used as it is stored",
                            safetensors_name(spec.weight_dtype), list));
}

}  // namespace

Status check_tensors(std::span<const TensorInfo> tensors, const ModelSpec& spec, const std::filesystem::path& dir) {
  const auto find = [&](const std::string& name) {
    const auto at =
        std::lower_bound(tensors.begin(), tensors.end(), name,
                         [](const TensorInfo& info, const std::string& wanted) { return info.name < wanted; });
    return at == tensors.end() || at->name != name ? nullptr : &*at;
  };
  std::set<std::string_view> known;
  Status status;
  each_expected_tensor(spec, [&](const ExpectedTensor& want) {
    const TensorInfo* info = find(want.name);
    if (info == nullptr)
      status = absent(dir.string(), want);
    else
      status = check_tensor(dir, *info, want);
    if (status.ok()) known.insert(info->name);
    return status.ok();
  });
  if (!status.ok()) return status;
  for (const TensorInfo& info : tensors) {
    if (known.contains(info.name) || is_frequency_buffer(info.name)) continue;
    if (info.name != kHead || !spec.tied_embeddings)
      return fault(dir, info, "a tensor that the architecture does not use",
                   fmt::format("the {} tensors of {}", known.size(), spec.model_type),
                   "what it does to the model is unknown, so it is not dropped; is config.json of the same model?");
  }
  return {};
}

Status Checkpoint::check_against(const ModelSpec& spec) const {
  CALKIT_CHECK_OK(check_tensors(tensors_, spec, dir_));
  const TensorInfo* head = find(kHead);
  return head != nullptr && spec.tied_embeddings ? check_head(*this, dir_, *head) : Status();
}

std::vector<std::string> Checkpoint::notes(const ModelSpec& spec) const {
  std::vector<std::string> out = notes_;
  note_types(*this, spec, out);
  note_buffers(*this, spec, out);
  if (spec.tied_embeddings)
    out.push_back(
        fmt::format("the head is {} (tie_word_embeddings){}", kEmbedding,
                    find(kHead) != nullptr ? ", whose bytes are stored a second time as lm_head.weight" : ""));
  return out;
}

}  // namespace calkit::hf
