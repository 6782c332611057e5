#include "spec_keys.h"

#include <fmt/format.h>

#include <set>

#include "calkit/base/text.h"

namespace calkit::hf {
namespace {

/// Keys that are read in hf or that change nothing about what the model computes.
const std::set<std::string_view> kKnownKeys = {
    // read
    "architectures", "attention_bias", "auto_map", "bos_token_id", "dtype", "eos_token_id", "head_dim", "hidden_act",
    "hidden_size", "intermediate_size", "is_encoder_decoder", "layer_types", "max_position_embeddings", "mlp_bias",
    "model_type", "num_attention_heads", "num_hidden_layers", "num_key_value_heads", "pad_token_id",
    "partial_rotary_factor", "pretraining_tp", "rms_norm_eps", "rope_parameters", "rope_scaling", "rope_theta",
    "sliding_window", "tie_word_embeddings", "torch_dtype", "use_sliding_window", "vocab_size",
    // training, bookkeeping and generation helpers
    "_attn_implementation", "_attn_implementation_autoset", "_name_or_path", "attention_dropout", "attn_implementation",
    "chunk_size_feed_forward", "do_sample", "embd_pdrop", "hidden_dropout", "id2label", "initializer_range", "label2id",
    "max_length", "max_window_layers", "output_attentions", "output_hidden_states", "problem_type", "resid_pdrop",
    "return_dict", "task_specific_params", "temperature", "tokenizer_class", "top_k", "top_p", "torchscript",
    "transformers_version", "unsloth_fixed", "unsloth_version", "use_cache"};

const std::set<std::string_view> kExpertKeys = {"decoder_sparse_step", "mlp_only_layers",      "moe_intermediate_size",
                                                "norm_topk_prob",      "num_experts",          "num_experts_per_tok",
                                                "num_local_experts",   "output_router_logits", "router_aux_loss_coef"};

/// A key whose presence means a structure that calkit does not run.
struct Excluded {
  std::string_view key, allowed, hint;
};
constexpr Excluded kExcluded[] = {
    {"quantization_config", "an unquantised checkpoint",
     "take the original bfloat16 checkpoint; calkit does the quantising"},
    {"vision_config", "a text-only model", ""},
    {"audio_config", "a text-only model", ""},
    {"kv_lora_rank", "no latent attention (MLA)", ""},
};

void note_unused(const Cursor& config, ModelSpec& spec) {
  if (config.find("auto_map"))
    spec.notes.push_back(fmt::format(
        "config.json names code of the checkpoint's own (auto_map); it is never run, the model is read as {}",
        spec.model_type));
  if (const auto at = config.find("pretraining_tp"); at && at->value().if_int() != 1)
    spec.notes.push_back(fmt::format(
        "config.json /pretraining_tp is {}; Transformers 5 does not read it and its sums are not split here either",
        at->value().describe()));
}

}  // namespace

Status refuse_structures(const Cursor& config) {
  for (const Excluded& excluded : kExcluded)
    if (const auto at = config.find(excluded.key))
      return at->error(at->value().describe(), excluded.allowed, std::string(excluded.hint));
  if (const auto at = config.find("is_encoder_decoder")) {
    CALKIT_TRY(const bool encoder_decoder, at->as_bool());
    if (encoder_decoder) return at->error("true", "false: a decoder-only model");
  }
  return {};
}

Status refuse_experts(const Cursor& config) {
  for (const char* key : {"num_experts", "num_local_experts", "n_routed_experts"})
    if (const auto at = config.find(key))
      return at->error(at->value().describe(), "a dense model, or the experts of model_type qwen3_moe");
  return {};
}

Status check_keys(const Cursor& config, ModelSpec& spec) {
  CALKIT_TRY(const auto members, config.members());
  for (const auto& [key, at] : members)
    if (!kKnownKeys.contains(key) && !(spec.experts && kExpertKeys.contains(key)) && !at.value().is_null())
      return at.error(at.value().describe(), "a key that calkit knows",
                      fmt::format("what '{}' does to the model is unknown here; if nothing, remove it from config.json",
                                  printable(key)));
  note_unused(config, spec);
  return {};
}

}  // namespace calkit::hf
