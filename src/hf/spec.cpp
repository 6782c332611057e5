#include "calkit/hf/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "model_dir.h"
#include "spec_rope.h"

namespace calkit::hf {
namespace {

// Bounds far above any model of this architecture; inside them no product of extents below overflows 63 bits.
constexpr std::int64_t kMaxLayers = 1024, kMaxHeads = 1024, kMaxHeadDim = 1024, kMaxHidden = 1 << 17, kMaxFfn = 1 << 19;
constexpr std::int64_t kMaxVocab = 1 << 22, kMaxPositions = 1 << 26;

/// Keys that are read here or that change nothing about what the model computes.
const std::set<std::string_view> kKnownKeys = {
    // read
    "architectures", "attention_bias", "bos_token_id", "dtype", "eos_token_id", "head_dim", "hidden_act", "hidden_size",
    "intermediate_size", "is_encoder_decoder", "layer_types", "max_position_embeddings", "mlp_bias", "model_type",
    "num_attention_heads", "num_hidden_layers", "num_key_value_heads", "pad_token_id", "partial_rotary_factor",
    "rms_norm_eps", "rope_parameters", "rope_scaling", "rope_theta", "sliding_window", "tie_word_embeddings",
    "torch_dtype", "use_sliding_window", "vocab_size",
    // training, bookkeeping and generation helpers
    "_attn_implementation", "_attn_implementation_autoset", "_name_or_path", "attention_dropout", "attn_implementation",
    "chunk_size_feed_forward", "embd_pdrop", "hidden_dropout", "id2label", "initializer_range", "label2id",
    "max_window_layers", "output_attentions", "output_hidden_states", "problem_type", "resid_pdrop", "return_dict",
    "task_specific_params", "tokenizer_class", "torchscript", "transformers_version", "unsloth_fixed",
    "unsloth_version", "use_cache"};

/// A key whose presence means a structure that calkit does not run; named before model_type, being the deeper reason.
struct Excluded {
  std::string_view key, allowed, hint;
};
constexpr Excluded kExcluded[] = {
    {"auto_map", "no custom code",
     "code shipped with a checkpoint is never run; use a checkpoint of a published architecture"},
    {"quantization_config", "an unquantised checkpoint",
     "take the original bfloat16 checkpoint; calkit does the quantising"},
    {"vision_config", "a text-only model", ""},
    {"audio_config", "a text-only model", ""},
    {"kv_lora_rank", "no latent attention (MLA)", ""},
    {"num_experts", "a dense model", ""},
    {"num_local_experts", "a dense model", ""},
    {"n_routed_experts", "a dense model", ""},
};

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

Status read_identity(const Cursor& config, ModelSpec& spec) {
  const char* hint = "this version runs dense Qwen3 only; `calkit triage` reports on other families";
  CALKIT_TRY(const Cursor type_at, config.at("model_type"));
  CALKIT_TRY(spec.model_type, type_at.as_string());
  if (spec.model_type != "qwen3") return type_at.error(type_at.value().describe(), "\"qwen3\"", hint);
  CALKIT_TRY(const Cursor architectures_at, config.at("architectures"));
  CALKIT_TRY(const auto items, architectures_at.items());
  for (const Cursor& item : items) {
    const std::string* name = item.value().if_string();
    if (name == nullptr || *name != "Qwen3ForCausalLM")
      return item.error(item.value().describe(), "\"Qwen3ForCausalLM\"", hint);
    spec.architectures.push_back(*name);
  }
  if (spec.architectures.size() != 1)
    return architectures_at.error(fmt::format("{} names", spec.architectures.size()), "[\"Qwen3ForCausalLM\"]", hint);
  return {};
}

/// Transformers itself takes 128 for a Qwen3 without head_dim, other readers hidden_size / heads: only if both agree is
/// there one answer.
Status read_head_dim(const Cursor& config, ModelSpec& spec) {
  if (const auto at = config.find("head_dim")) {
    CALKIT_TRY(spec.head_dim, at->as_int(2, kMaxHeadDim));
    if (spec.head_dim % 2 != 0) return at->error(fmt::format("{}", spec.head_dim), "an even number: RoPE turns halves");
    return {};
  }
  if (spec.hidden != 128 * spec.q_heads)
    return input_error(config.file(), "/head_dim", "absent",
                       fmt::format("stated: readers differ between 128 and hidden_size / num_attention_heads = {}",
                                   spec.hidden / spec.q_heads),
                       "write head_dim into config.json; q_proj has num_attention_heads * head_dim rows");
  spec.head_dim = 128;
  return {};
}

Status read_sizes(const Cursor& config, ModelSpec& spec) {
  CALKIT_TRY(spec.hidden, config.integer("hidden_size", 1, kMaxHidden));
  CALKIT_TRY(spec.layers, config.integer("num_hidden_layers", 1, kMaxLayers));
  CALKIT_TRY(spec.q_heads, config.integer("num_attention_heads", 1, kMaxHeads));
  CALKIT_TRY(spec.kv_heads, config.integer("num_key_value_heads", 1, kMaxHeads));
  if (spec.q_heads % spec.kv_heads != 0) {
    CALKIT_TRY(const Cursor at, config.at("num_key_value_heads"));
    return at.error(fmt::format("{}", spec.kv_heads),
                    fmt::format("a divisor of num_attention_heads = {}", spec.q_heads));
  }
  CALKIT_CHECK_OK(read_head_dim(config, spec));
  CALKIT_TRY(spec.ffn, config.integer("intermediate_size", 1, kMaxFfn));
  CALKIT_TRY(spec.vocab, config.integer("vocab_size", 1, kMaxVocab));
  CALKIT_TRY(spec.max_positions, config.integer("max_position_embeddings", 1, kMaxPositions));
  return {};
}

Status read_numerics(const Cursor& config, ModelSpec& spec) {
  CALKIT_TRY(const Cursor activation_at, config.at("hidden_act"));
  CALKIT_TRY(spec.activation, activation_at.as_word({"silu"}));
  CALKIT_TRY(const Cursor eps_at, config.at("rms_norm_eps"));
  CALKIT_TRY(spec.rms_eps, eps_at.as_number());
  if (!(spec.rms_eps > 0 && spec.rms_eps < 1))
    return eps_at.error(eps_at.value().describe(), "a number above 0 and below 1");
  CALKIT_TRY(spec.tied_embeddings, config.boolean("tie_word_embeddings"));
  for (const char* key : {"attention_bias", "mlp_bias"})
    if (const auto at = config.find(key)) {
      CALKIT_TRY(const bool bias, at->as_bool());
      if (bias) return at->error("true", "false: bias terms are not applied in this version");
    }
  spec.qk_norm = true;  // every Qwen3 has them; check_against() demands the tensors
  return {};
}

Status read_weight_dtype(const Cursor& config, ModelSpec& spec) {
  std::optional<std::string> stated;
  for (const char* key : {"dtype", "torch_dtype"})
    if (const auto at = config.find(key)) {
      CALKIT_TRY(const std::string word, at->as_word({"bfloat16", "float16", "float32"}));
      if (stated && *stated != word)
        return at->error(at->value().describe(), fmt::format("\"{}\", as dtype says", *stated));
      stated = word;
    }
  if (!stated)
    return input_error(config.file(), "/dtype", "absent", "bfloat16, float16 or float32 (dtype or torch_dtype)");
  spec.weight_dtype = *stated == "bfloat16" ? DType::kBF16 : *stated == "float16" ? DType::kF16 : DType::kF32;
  return {};
}

Status refuse_windows(const Cursor& config, const ModelSpec& spec) {
  if (const auto at = config.find("layer_types")) {
    CALKIT_TRY(const auto items, at->items());
    if (items.size() != static_cast<std::size_t>(spec.layers))
      return at->error(fmt::format("{} entries", items.size()),
                       fmt::format("one for each of the {} layers", spec.layers));
    for (const Cursor& item : items) CALKIT_CHECK_OK(item.as_word({"full_attention"}));
  }
  if (const auto at = config.find("use_sliding_window")) {
    CALKIT_TRY(const bool used, at->as_bool());
    if (used) return at->error("true", "false: every layer attends to the whole context");
  } else if (const auto window = config.find("sliding_window")) {
    return window->error(window->value().describe(), "null, or use_sliding_window: false beside it");
  }
  return {};
}

Status read_token_ids(const Cursor& config, ModelSpec& spec) {
  const auto below_vocab = [&](const Cursor& at) { return at.as_int(0, spec.vocab - 1); };
  if (const auto at = config.find("bos_token_id")) {
    CALKIT_TRY(spec.bos_id, below_vocab(*at));
  }
  if (const auto at = config.find("pad_token_id")) {
    CALKIT_TRY(spec.pad_id, below_vocab(*at));
  }
  if (const auto at = config.find("eos_token_id")) {
    std::vector<Cursor> items = {*at};
    if (at->value().is_array()) {
      CALKIT_TRY(items, at->items());
    }
    for (const Cursor& item : items) {
      CALKIT_TRY(const std::int64_t id, below_vocab(item));
      spec.eos_ids.push_back(id);
    }
  }
  return {};
}

Status refuse_unknown_keys(const Cursor& config) {
  CALKIT_TRY(const auto members, config.members());
  for (const auto& [key, at] : members)
    if (!kKnownKeys.contains(key) && !at.value().is_null())
      return at.error(
          at.value().describe(), "a key that calkit knows",
          fmt::format("what '{}' does to the model is unknown here; if nothing, remove it from config.json", key));
  return {};
}

}  // namespace

Result<ModelSpec> parse_spec(const Cursor& config) {
  ModelSpec spec;
  CALKIT_CHECK_OK(refuse_structures(config));
  CALKIT_CHECK_OK(read_identity(config, spec));
  CALKIT_CHECK_OK(read_sizes(config, spec));
  CALKIT_CHECK_OK(read_numerics(config, spec));
  CALKIT_CHECK_OK(read_rope(config, spec));
  CALKIT_CHECK_OK(refuse_windows(config, spec));
  CALKIT_CHECK_OK(read_weight_dtype(config, spec));
  CALKIT_CHECK_OK(read_token_ids(config, spec));
  CALKIT_CHECK_OK(refuse_unknown_keys(config));
  return spec;
}

Result<ModelSpec> read_spec(const std::filesystem::path& model_dir) {
  CALKIT_TRY(const ModelDir dir, ModelDir::open(model_dir));
  CALKIT_TRY(const std::string text, dir.read("config.json", 4ull << 20), "reading the model's configuration");
  CALKIT_TRY(const Value document, parse_json(text, dir.shown("config.json")), "reading the model's configuration");
  return parse_spec(Cursor(document, dir.shown("config.json")));
}

}  // namespace calkit::hf
