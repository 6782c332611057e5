#include <fmt/format.h>

#include <array>

#include "calkit/base/text.h"
#include "spec_family.h"
#include "triage_rules.h"

namespace calkit::hf {
namespace {

// A structure that holds is ours to engineer (C2); one that the product cannot run now is C4.
constexpr const char* kOurs = "C2";
constexpr const char* kUnsupported = "C4";
constexpr const char* kNotStated = "not stated";

TriageRule rule(std::string id, std::string text, std::string allowed) {
  TriageRule out;
  out.id = std::move(id);
  out.text = std::move(text);
  out.allowed = std::move(allowed);
  out.source = "config.json";
  out.status = kUnsupported;
  return out;
}

TriageRule passed(TriageRule out, std::string found, std::string source) {
  out.found = std::move(found);
  out.source = std::move(source);
  out.verdict = Verdict::kPass;
  out.status = kOurs;
  return out;
}

TriageRule failed(TriageRule out, std::string found, std::string source) {
  out.found = std::move(found);
  out.source = std::move(source);
  out.verdict = Verdict::kFail;
  return out;
}

std::string config_at(std::string_view key) {
  return fmt::format("config.json /{}", key);
}

std::string stated(const Facts& facts, std::string_view key) {
  return fmt::format("{} {}", key, facts.find(key)->describe());
}

std::string text_of(const Facts& facts, std::string_view key) {
  const Value* value = facts.find(key);
  return value != nullptr && value->if_string() != nullptr ? *value->if_string() : std::string();
}

/// The family of model_type, where calkit runs it: its published defaults count for keys that are absent.
const Family* family_of(const Facts& facts) {
  return find_family(text_of(facts, "model_type"));
}

/// The first of these keys that config.json sets, false not counting as set.
template <std::size_t N>
std::optional<std::string_view> first_key(const Facts& facts, const std::array<std::string_view, N>& keys) {
  for (const std::string_view key : keys)
    if (const Value* value = facts.find(key); value != nullptr && (value->if_bool() == nullptr || *value->if_bool()))
      return key;
  return std::nullopt;
}

template <std::size_t N>
std::optional<std::string_view> first_part(const Facts& facts, const std::array<std::string_view, N>& parts) {
  for (const std::string_view part : parts)
    if (facts.has(part)) return part;
  return std::nullopt;
}

/// A rule that forbids keys of config.json and components of tensor names.
template <std::size_t N, std::size_t M>
TriageRule forbidding(TriageRule out, const Facts& facts, const std::array<std::string_view, N>& keys,
                      const std::array<std::string_view, M>& parts) {
  if (const auto key = first_key(facts, keys)) return failed(std::move(out), stated(facts, *key), config_at(*key));
  if (const auto part = first_part(facts, parts))
    return failed(std::move(out), fmt::format("tensors named '{}'", *part), "tensor headers");
  return passed(std::move(out), "none", "config.json, tensor headers");
}

TriageRule dense_decoder(const Facts& facts) {
  // Exact pairs: a family's name inside another name says nothing about its structure.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kDense = {{{"llama", "LlamaForCausalLM"},
                                                                                    {"mistral", "MistralForCausalLM"},
                                                                                    {"qwen2", "Qwen2ForCausalLM"},
                                                                                    {"qwen3", "Qwen3ForCausalLM"}}};
  constexpr std::array<std::string_view, 9> kKeys = {
      "is_encoder_decoder", "num_experts", "num_local_experts", "n_routed_experts", "num_experts_per_tok",
      "state_size",         "ssm_cfg",     "conv_kernel",       "mamba_d_state"};
  constexpr std::array<std::string_view, 7> kParts = {"experts", "router", "shared_expert", "block_sparse_moe",
                                                      "encoder", "mixer",  "A_log"};
  TriageRule out = rule("dense-decoder", "a dense decoder-only model of the Llama/Qwen family",
                        "llama, mistral, qwen2 or qwen3 with its ...ForCausalLM; no experts, encoder or state space");
  TriageRule structure = forbidding(out, facts, kKeys, kParts);
  // A vision model's own encoder is the business of the text-only rule.
  if (structure.verdict == Verdict::kFail &&
      !(structure.source == "tensor headers" && facts.find("vision_config") != nullptr))
    return structure;
  const std::string type = text_of(facts, "model_type");
  const Value* names = facts.find("architectures");
  const Value::Array* list = names != nullptr ? names->if_array() : nullptr;
  const std::string* name = list != nullptr && list->size() == 1 ? list->front().if_string() : nullptr;
  const std::string found = fmt::format("{}, {}", type.empty() ? kNotStated : printable(type),
                                        names == nullptr  ? kNotStated
                                        : name != nullptr ? printable(*name)
                                                          : names->describe());
  for (const auto& [known_type, known_name] : kDense)
    if (type == known_type && name != nullptr && *name == known_name)
      return passed(std::move(out), found, "config.json /model_type /architectures");
  return failed(std::move(out), found, "config.json /model_type /architectures");
}

TriageRule rms_norm(const Facts& facts) {
  TriageRule out = rule("rms-norm", "RMSNorm", "rms_norm_eps and input_layernorm tensors");
  const Value* eps = facts.find("rms_norm_eps");
  if (eps == nullptr || !eps->if_number()) {
    for (const std::string_view key : {"layer_norm_epsilon", "layer_norm_eps", "norm_epsilon"})
      if (facts.find(key) != nullptr) return failed(std::move(out), stated(facts, key), config_at(key));
    if (eps != nullptr || family_of(facts) == nullptr)
      return failed(std::move(out), kNotStated, config_at("rms_norm_eps"));
  }
  if (!facts.has("input_layernorm")) return failed(std::move(out), "no input_layernorm tensors", "tensor headers");
  return passed(std::move(out), eps != nullptr ? stated(facts, "rms_norm_eps") : "rms_norm_eps 1e-06 by default",
                config_at("rms_norm_eps"));
}

TriageRule rope(const Facts& facts) {
  TriageRule out =
      rule("rope", "rotary positions over the whole head", "RoPE: default, linear, dynamic, llama3 or yarn");
  if (const Value* factor = facts.find("partial_rotary_factor"); factor != nullptr && factor->if_number() != 1.0)
    return failed(std::move(out), stated(facts, "partial_rotary_factor"), config_at("partial_rotary_factor"));
  std::string types, sources;
  for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
    const Value* block = facts.find(key);
    if (block == nullptr) continue;
    const Value* type = block->find("rope_type");
    if (type == nullptr) type = block->find("type");
    const std::string* word = type != nullptr ? type->if_string() : nullptr;
    if (block->find("mrope_section") != nullptr) return failed(std::move(out), "mrope_section", config_at(key));
    if (const Value* factor = block->find("partial_rotary_factor"); factor != nullptr && factor->if_number() != 1.0)
      return failed(std::move(out), fmt::format("partial_rotary_factor {}", factor->describe()), config_at(key));
    if (word == nullptr) return failed(std::move(out), fmt::format("{} without a rope_type", key), config_at(key));
    if (*word != "default" && *word != "linear" && *word != "dynamic" && *word != "llama3" && *word != "yarn")
      return failed(std::move(out), fmt::format("rope_type {}", printable(*word)), config_at(key));
    if (types.find(*word) == std::string::npos) types += (types.empty() ? "rope_type " : " and ") + *word;
    sources += (sources.empty() ? "" : ", ") + config_at(key);
  }
  if (!types.empty()) return passed(std::move(out), types, sources);
  if (facts.find("rope_theta") != nullptr)
    return passed(std::move(out), stated(facts, "rope_theta"), config_at("rope_theta"));
  if (facts.has("inv_freq")) return passed(std::move(out), "rotary_emb.inv_freq tensors", "tensor headers");
  if (family_of(facts) != nullptr)
    return passed(std::move(out), "rope_theta 10000 by default", config_at("rope_theta"));
  return failed(std::move(out), kNotStated, "config.json /rope_theta /rope_parameters");
}

TriageRule gqa(const Facts& facts) {
  TriageRule out = rule("gqa", "grouped-query attention", "num_key_value_heads divides num_attention_heads");
  const auto q = facts.size("num_attention_heads");
  const auto kv = facts.kv_heads();
  if (!q) return failed(std::move(out), kNotStated, config_at("num_attention_heads"));
  if (!kv) return failed(std::move(out), kNotStated, config_at("num_key_value_heads"));
  const std::string found = fmt::format("{} query heads, {} KV heads", q->value, kv->value);
  if (q->value % kv->value != 0) return failed(std::move(out), found, kv->source);
  return passed(std::move(out), found, kv->source);
}

TriageRule swiglu(const Facts& facts) {
  TriageRule out = rule("swiglu", "SwiGLU feed-forward", "hidden_act silu; gate_proj, up_proj and down_proj tensors");
  const bool by_default = facts.find("hidden_act") == nullptr && family_of(facts) != nullptr;
  const std::string act = by_default ? "silu" : text_of(facts, "hidden_act");
  if (act.empty()) return failed(std::move(out), kNotStated, config_at("hidden_act"));
  if (act != "silu")
    return failed(std::move(out), fmt::format("hidden_act {}", printable(act)), config_at("hidden_act"));
  for (const std::string_view part : {"gate_proj", "up_proj", "down_proj"})
    if (!facts.has(part)) return failed(std::move(out), fmt::format("no {} tensors", part), "tensor headers");
  return passed(std::move(out), "hidden_act silu, gate, up and down", "config.json /hidden_act, tensor headers");
}

TriageRule sliding_window(const Facts& facts) {
  TriageRule out = rule("sliding-window", "no sliding window", "every layer attends to the whole context");
  if (facts.is_true("use_sliding_window"))
    return failed(std::move(out), "use_sliding_window true", config_at("use_sliding_window"));
  if (const Value* types = facts.find("layer_types"); types != nullptr && types->if_array() != nullptr)
    for (const Value& type : *types->if_array())
      if (type.if_string() != nullptr && *type.if_string() == "sliding_attention")
        return failed(std::move(out), "sliding_attention layers", config_at("layer_types"));
  const Family* family = family_of(facts);
  const Window window = family != nullptr ? family->window : Window::kNone;
  if (window == Window::kByDefault && facts.config.find("sliding_window") == nullptr)
    return failed(std::move(out), "sliding_window absent: 4096 by default", config_at("sliding_window"));
  if (facts.find("sliding_window") != nullptr && window != Window::kSwitched &&
      (window == Window::kByDefault || facts.find("use_sliding_window") == nullptr))
    return failed(std::move(out), stated(facts, "sliding_window"), config_at("sliding_window"));
  return passed(std::move(out), "none", "config.json /sliding_window /use_sliding_window /layer_types");
}

TriageRule no_mla(const Facts& facts) {
  constexpr std::array<std::string_view, 3> kKeys = {"kv_lora_rank", "q_lora_rank", "qk_rope_head_dim"};
  constexpr std::array<std::string_view, 3> kParts = {"kv_a_proj_with_mqa", "kv_b_proj", "q_a_proj"};
  return forbidding(rule("no-mla", "no multi-head latent attention", "no kv_lora_rank, no latent projections"), facts,
                    kKeys, kParts);
}

TriageRule text_only(const Facts& facts) {
  constexpr std::array<std::string_view, 3> kKeys = {"vision_config", "audio_config", "speech_config"};
  constexpr std::array<std::string_view, 4> kParts = {"vision_tower", "visual", "vision_model", "audio_tower"};
  return forbidding(rule("text-only", "no vision or audio encoder", "no vision_config, no encoder tensors"), facts,
                    kKeys, kParts);
}

TriageRule plain_attention(const Facts& facts) {
  constexpr std::array<std::string_view, 7> kKeys = {
      "auto_map", "attn_logit_softcapping", "final_logit_softcapping", "query_pre_attn_scalar", "attention_chunk_size",
      "alibi",    "attention_multiplier"};
  constexpr std::array<std::string_view, 4> kParts = {"sinks", "relative_attention_bias", "linear_attn", "indexer"};
  TriageRule out = rule("plain-attention", "no custom attention and no code of the checkpoint's own",
                        "full attention, no auto_map, soft-capping, sinks or other kinds of layer");
  if (const Value* types = facts.find("layer_types"); types != nullptr && types->if_array() != nullptr)
    for (const Value& type : *types->if_array()) {
      const std::string* word = type.if_string();
      if (word == nullptr || (*word != "full_attention" && *word != "sliding_attention"))
        return failed(std::move(out), fmt::format("a layer of kind {}", type.describe()), config_at("layer_types"));
    }
  return forbidding(std::move(out), facts, kKeys, kParts);
}

TriageRule float_weights(const Facts& facts) {
  TriageRule out = rule("float-weights", "unquantised weights", "BF16, F16 or F32 and no quantization_config");
  if (facts.find("quantization_config") != nullptr)
    return failed(std::move(out), stated(facts, "quantization_config"), config_at("quantization_config"));
  std::string found;
  for (const auto& [dtype, bytes] : facts.dtypes) {
    if (dtype != "BF16" && dtype != "F16" && dtype != "F32")
      return failed(std::move(out), fmt::format("{} of {}", format_bytes(bytes), dtype), "tensor headers");
    found += fmt::format("{}{} of {}", found.empty() ? "" : ", ", format_bytes(bytes), dtype);
  }
  if (facts.parameters == 0) return failed(std::move(out), "no weights", "tensor headers");
  return passed(std::move(out), fmt::format("{} in {} file{}", found, facts.files, facts.files == 1 ? "" : "s"),
                "tensor headers");
}

}  // namespace

std::vector<TriageRule> structure_rules(const Facts& facts) {
  return {dense_decoder(facts),   rms_norm(facts),       rope(facts),   gqa(facts),
          swiglu(facts),          sliding_window(facts), no_mla(facts), text_only(facts),
          plain_attention(facts), float_weights(facts)};
}

}  // namespace calkit::hf
