#pragma once
/// ModelSpec: the architecture of a checkpoint, read from config.json, never from a name.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calkit/base/document.h"
#include "calkit/tensor/dtype.h"

namespace calkit::hf {

struct ModelSpec {
  std::string model_type;                  ///< "qwen3"
  std::vector<std::string> architectures;  ///< as in config.json
  std::int64_t layers = 0, hidden = 0, q_heads = 0, kv_heads = 0, head_dim = 0, ffn = 0, vocab = 0;
  std::int64_t max_positions = 0;  ///< trained context
  double rms_eps = 0, rope_theta = 0;
  std::string rope_type = "default";
  std::string activation;  ///< "silu"
  bool tied_embeddings = false;
  bool attention_bias = false;
  bool qk_norm = false;                        ///< RMSNorm over head_dim on q and k before RoPE
  DType weight_dtype = DType::kBF16;           ///< as config.json states it
  std::optional<std::int64_t> bos_id, pad_id;  ///< config.json
  std::vector<std::int64_t> eos_ids;           ///< config.json; one id or a list
};

/// Reads a dense Qwen3 config. Anything calkit cannot run exactly (another architecture, sliding window in use, rope
/// scaling, an unknown activation, heads that do not divide, a missing field) is kInput naming the field, found and
/// allowed. Both dialects are read: `torch_dtype`/`rope_theta`+`rope_scaling` and `dtype`/`rope_parameters`; two that
/// disagree are kInput.
Result<ModelSpec> read_spec(const std::filesystem::path& model_dir);
Result<ModelSpec> parse_spec(const Cursor& config);

/// The spec as a document (keys as in docs/formats/model-source.md), and back.
Value to_value(const ModelSpec& spec);

/// Bytes of K and V for one token of one sequence: layers * kv_heads * 2 * head_dim * element bytes.
std::uint64_t kv_bytes_per_token(const ModelSpec& spec, DType kv_dtype);

/// The tensors such a model must have, by Hugging Face name, with their shapes.
struct ExpectedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
};
std::vector<ExpectedTensor> expected_tensors(const ModelSpec& spec);

}  // namespace calkit::hf
