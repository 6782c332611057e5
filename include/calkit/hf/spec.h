#pragma once
/// ModelSpec: the architecture of a checkpoint, read from config.json, never from a name.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calkit/base/document.h"
#include "calkit/tensor/dtype.h"

namespace calkit::hf {

/// How RoPE angles are stretched beyond the trained context; what each type needs is in docs/formats/checkpoint.md.
struct RopeScaling {
  std::string type = "default";                      ///< default, linear, dynamic, llama3, yarn
  double factor = 1;                                 ///< not for default
  std::int64_t original_max_positions = 0;           ///< llama3, yarn: as stated, or max_position_embeddings for yarn
  double low_freq_factor = 0, high_freq_factor = 0;  ///< llama3
  double beta_fast = 32, beta_slow = 1;              ///< yarn
  bool truncate = true;                              ///< yarn: whole numbers at the ramp's ends
  std::optional<double> attention_factor, mscale, mscale_all_dim;  ///< yarn
  friend bool operator==(const RopeScaling&, const RopeScaling&) = default;
};

/// Mixture of experts in some layers; the others have the dense MLP of width `ModelSpec::ffn`.
struct Experts {
  std::int64_t count = 0, per_token = 0, ffn = 0;
  bool norm_topk = false;           ///< the weights of the chosen experts are scaled to a sum of 1
  std::vector<bool> sparse_layers;  ///< one per layer
};

struct ModelSpec {
  std::string model_type;                  ///< "qwen3"
  std::vector<std::string> architectures;  ///< as in config.json
  std::int64_t layers = 0, hidden = 0, q_heads = 0, kv_heads = 0, head_dim = 0, ffn = 0, vocab = 0;
  std::int64_t max_positions = 0;  ///< trained context
  double rms_eps = 0, rope_theta = 0;
  RopeScaling rope;
  std::string activation;  ///< "silu"
  bool tied_embeddings = false;
  bool qkv_bias = false, o_bias = false;  ///< bias terms of the attention's projections
  bool mlp_bias = false;
  bool qk_norm = false;                        ///< RMSNorm over head_dim on q and k before RoPE
  DType weight_dtype = DType::kBF16;           ///< as config.json states it; see read_spec
  std::optional<std::int64_t> bos_id, pad_id;  ///< config.json
  std::vector<std::int64_t> eos_ids;           ///< config.json; one id or a list
  std::optional<Experts> experts;
  /// What a reader should know though it stops nothing: sources that disagree, keys that change nothing. A sentence
  /// each.
  std::vector<std::string> notes;
};

/// Reads the config of a family that docs/formats/checkpoint.md lists. Anything calkit cannot run exactly (another
/// architecture, a sliding window in use, an unknown activation, heads that do not divide, a missing size) is kInput
/// naming the field, found and allowed. Both dialects are read: `torch_dtype`/`rope_theta`+`rope_scaling` and
/// `dtype`/`rope_parameters`; two that disagree are kInput. A default that was taken and a key that changes nothing
/// become notes.
/// @param stored_dtype the element type of the weights, for a config that states none; bfloat16 if that is unknown too.
Result<ModelSpec> parse_spec(const Cursor& config, std::optional<DType> stored_dtype = std::nullopt);
/// The same, from a folder: the stored type is that of most bytes of the weights.
Result<ModelSpec> read_spec(const std::filesystem::path& model_dir);

/// The spec as a document (keys as in docs/formats/model-source.md).
Value to_value(const ModelSpec& spec);

/// Bytes of K and V for one token of one sequence: layers * kv_heads * 2 * head_dim * element bytes.
std::uint64_t kv_bytes_per_token(const ModelSpec& spec, DType kv_dtype);

/// The tensors such a model must have, by Hugging Face name, with their shapes.
struct ExpectedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
};
std::vector<ExpectedTensor> expected_tensors(const ModelSpec& spec);
/// The same one by one, until `sink` answers false: a hostile config may ask for more than its weights hold.
void each_expected_tensor(const ModelSpec& spec, const std::function<bool(const ExpectedTensor&)>& sink);

}  // namespace calkit::hf
