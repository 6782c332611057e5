#pragma once
/// A safetensors checkpoint (one file, or shards behind model.safetensors.index.json), mapped, never copied.
///   file: uint64 LE header length N, N bytes of JSON {name: {dtype, shape, data_offsets [begin, end)}}, data.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/base/files.h"
#include "calkit/hf/spec.h"
#include "calkit/tensor/tensor.h"

namespace calkit::hf {

struct TensorInfo {
  std::string name;
  DType dtype = DType::kBF16;
  Shape shape;
  std::string file;          ///< relative to the model folder
  std::uint64_t offset = 0;  ///< in the file, header included
  std::uint64_t bytes = 0;
};

/// The tensors of one file, sorted by name, after the checks of Checkpoint::open; `file` is the name used in messages.
Result<std::vector<TensorInfo>> parse_safetensors(std::span<const std::byte> bytes, std::string_view file);

/// Whether tensors, sorted by name, are those of the architecture: every one of expected_tensors() with its shape in
/// BF16, F16 or F32, and nothing else but inv_freq buffers of RoPE and, with tied embeddings, lm_head.weight. Reads no
/// values. @param dir for the messages.
Status check_tensors(std::span<const TensorInfo> tensors, const ModelSpec& spec, const std::filesystem::path& dir);

class Checkpoint {
 public:
  /// Opens, maps and checks every header: bounds, overlaps, holes, shape x dtype against bytes, index against files.
  /// kInput names the file, the tensor and the fault; a Git LFS pointer is told as such. Reads headers only.
  /// Symlinks are refused, but for those of a Hugging Face cache snapshot (`snapshots/<rev>/<file>` ->
  /// `../../blobs/<digest>`).
  static Result<Checkpoint> open(const std::filesystem::path& model_dir);

  const std::vector<TensorInfo>& tensors() const { return tensors_; }  ///< sorted by name
  const TensorInfo* find(std::string_view name) const;
  /// The mapped bytes of one tensor, zero copy (a copy if the file places it off its element's alignment). kInput if
  /// there is none of that name.
  Result<Tensor> tensor(std::string_view name) const;
  /// Lets the pages of one tensor go.
  void release(std::string_view name) const;
  std::uint64_t weight_bytes() const;
  /// Weight files, relative, sorted.
  const std::vector<std::string>& files() const { return files_; }

  /// Every tensor of expected_tensors() is there with that shape in BF16, F16 or F32, and nothing else is but inv_freq
  /// buffers of RoPE. With tied embeddings a stored lm_head.weight must equal the embedding byte for byte.
  Status check_against(const ModelSpec& spec) const;
  /// What a reader should know of a checkpoint that passed, a sentence each: index and shards, element types that
  /// differ from config.json's, tensors that are stored but not used.
  std::vector<std::string> notes(const ModelSpec& spec) const;
  /// Reads every weight once, tensor by tensor, and lets its pages go: kInput names the first NaN or infinity.
  Status check_finite() const;

 private:
  const std::shared_ptr<const MappedFile>& map_of(const TensorInfo& info) const;

  std::filesystem::path dir_;
  std::vector<TensorInfo> tensors_;
  std::vector<std::string> files_, notes_;
  std::vector<std::shared_ptr<const MappedFile>> maps_;  ///< parallel to files_
};

}  // namespace calkit::hf
