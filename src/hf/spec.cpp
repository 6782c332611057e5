#include "calkit/hf/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "model_dir.h"
#include "spec_experts.h"
#include "spec_family.h"
#include "spec_keys.h"
#include "spec_rope.h"
#include "weights.h"

namespace calkit::hf {
namespace {

// Bounds far above any model of these families; inside them no product of extents below overflows 63 bits.
constexpr std::int64_t kMaxLayers = 1024, kMaxHeads = 1024, kMaxHeadDim = 1024, kMaxHidden = 1 << 17, kMaxFfn = 1 << 19;
constexpr std::int64_t kMaxVocab = 151936;  // the product's reservation for logits
constexpr std::int64_t kMaxPositions = 1 << 26;

Result<const Family*> read_family(const Cursor& config, ModelSpec& spec) {
  CALKIT_TRY(const Cursor at, config.at("model_type"));
  CALKIT_TRY(spec.model_type, at.as_string());
  const Family* family = find_family(spec.model_type);
  if (family == nullptr)
    return at.error(at.value().describe(), family_types(),
                    "another family needs its tensors, its graph and a peer's numbers to check them against; `calkit "
                    "triage` reports on any");
  return family;
}

/// One name; that of another family is told but does not count, as in Transformers' AutoModelForCausalLM.
Status read_architectures(const Cursor& config, const Family& family, ModelSpec& spec) {
  CALKIT_TRY(const Cursor at, config.at("architectures"));
  CALKIT_TRY(const auto items, at.items());
  const std::string allowed = fmt::format("\"{}\"", family.architecture);
  for (const Cursor& item : items) {
    const std::string* name = item.value().if_string();
    if (name == nullptr || !is_known_architecture(*name))
      return item.error(item.value().describe(), allowed, "calkit runs causal language models, no other heads");
    spec.architectures.push_back(*name);
  }
  if (items.size() != 1) return at.error(fmt::format("{} names", items.size()), fmt::format("[{}]", allowed));
  if (spec.architectures.front() != family.architecture)
    spec.notes.push_back(
        fmt::format("config.json disagrees with itself: model_type is {}, architectures names {}; model_type counts",
                    spec.model_type, spec.architectures.front()));
  return {};
}

Error no_head_dim(const Cursor& config, const ModelSpec& spec, std::int64_t transformers) {
  return input_error(config.file(), "/head_dim", "absent",
                     fmt::format("stated: readers differ between {} and hidden_size / num_attention_heads = {}",
                                 transformers, spec.hidden / spec.q_heads),
                     "write head_dim into config.json; q_proj has num_attention_heads * head_dim rows");
}

Status read_head_dim(const Cursor& config, const Family& family, ModelSpec& spec) {
  const auto at = config.find("head_dim");
  if (at) {
    CALKIT_TRY(spec.head_dim, at->as_int(2, kMaxHeadDim));
    if (spec.head_dim % 2 != 0) return at->error(fmt::format("{}", spec.head_dim), "an even number: RoPE turns halves");
    return {};
  }
  // Where Transformers takes a number, other readers divide: only if both agree is there one answer.
  if (family.head_dim != 0 && spec.hidden != family.head_dim * spec.q_heads)
    return no_head_dim(config, spec, family.head_dim);
  spec.head_dim = spec.hidden / spec.q_heads;
  if (spec.hidden % spec.q_heads != 0 || spec.head_dim < 2 || spec.head_dim > kMaxHeadDim || spec.head_dim % 2 != 0)
    return input_error(config.file(), "/head_dim", "absent",
                       fmt::format("stated, or hidden_size {} a multiple of num_attention_heads {} by an even number",
                                   spec.hidden, spec.q_heads));
  note_default(config, "head_dim", fmt::format("{}", spec.head_dim), spec);
  return {};
}

Status read_kv_heads(const Cursor& config, const Family& family, ModelSpec& spec) {
  if (const auto at = config.find("num_key_value_heads")) {
    CALKIT_TRY(spec.kv_heads, at->as_int(1, kMaxHeads));
    if (spec.q_heads % spec.kv_heads != 0)
      return at->error(fmt::format("{}", spec.kv_heads),
                       fmt::format("a divisor of num_attention_heads = {}", spec.q_heads));
    return {};
  }
  const bool is_null = config.value().find("num_key_value_heads") != nullptr;
  if (!is_null && family.kv_heads != 0 && family.kv_heads != spec.q_heads)
    return input_error(
        config.file(), "/num_key_value_heads", "absent",
        fmt::format("stated: readers differ between {} and num_attention_heads = {}", family.kv_heads, spec.q_heads),
        "write num_key_value_heads into config.json; k_proj has num_key_value_heads * head_dim rows");
  spec.kv_heads = spec.q_heads;
  note_default(config, "num_key_value_heads", fmt::format("{}", spec.kv_heads), spec);
  return {};
}

Status read_vocab(const Cursor& config, ModelSpec& spec) {
  CALKIT_TRY(const Cursor at, config.at("vocab_size"));
  CALKIT_TRY(spec.vocab, at.as_int(1));
  if (spec.vocab > kMaxVocab)
    return at.error(fmt::format("{}", spec.vocab), fmt::format("at most {}", kMaxVocab),
                    "the product reserves memory for that many logits; a larger vocabulary needs a larger reservation");
  return {};
}

Status read_sizes(const Cursor& config, const Family& family, ModelSpec& spec) {
  CALKIT_TRY(spec.hidden, config.integer("hidden_size", 1, kMaxHidden));
  CALKIT_TRY(spec.layers, config.integer("num_hidden_layers", 0, kMaxLayers));
  CALKIT_TRY(spec.q_heads, config.integer("num_attention_heads", 1, kMaxHeads));
  CALKIT_CHECK_OK(read_kv_heads(config, family, spec));
  CALKIT_CHECK_OK(read_head_dim(config, family, spec));
  CALKIT_TRY(spec.ffn, config.integer("intermediate_size", 1, kMaxFfn));
  CALKIT_CHECK_OK(read_vocab(config, spec));
  spec.max_positions = family.max_positions;
  if (const auto at = config.find("max_position_embeddings")) {
    CALKIT_TRY(spec.max_positions, at->as_int(1, kMaxPositions));
  } else {
    note_default(config, "max_position_embeddings", fmt::format("{}", family.max_positions), spec);
  }
  return {};
}

Status read_numerics(const Cursor& config, ModelSpec& spec) {
  spec.activation = "silu";
  if (const auto at = config.find("hidden_act")) {
    CALKIT_TRY(spec.activation, at->as_word({"silu"}));
  } else {
    note_default(config, "hidden_act", "silu", spec);
  }
  spec.rms_eps = kDefaultEps;
  if (const auto at = config.find("rms_norm_eps")) {
    CALKIT_TRY(spec.rms_eps, at->as_number());
    if (!(spec.rms_eps > 0 && spec.rms_eps < 1))
      return at->error(at->value().describe(), "a number above 0 and below 1");
  } else {
    note_default(config, "rms_norm_eps", "1e-06", spec);
  }
  if (const auto at = config.find("tie_word_embeddings")) {
    CALKIT_TRY(spec.tied_embeddings, at->as_bool());
  } else {
    note_default(config, "tie_word_embeddings", "false", spec);
  }
  return {};
}

/// Which projections have bias terms. A key that the family does not read must not ask for what the family never does.
Result<bool> read_bias(const Cursor& config, const char* key, Bias bias, const std::string& type) {
  const auto at = config.find(key);
  if (!at) return bias == Bias::kAlways;
  CALKIT_TRY(const bool stated, at->as_bool());
  if (bias == Bias::kStated) return stated;
  if (bias == Bias::kNever && stated) return at->error("true", fmt::format("false: {} has no such bias terms", type));
  return bias == Bias::kAlways;
}

Status read_biases(const Cursor& config, const Family& family, ModelSpec& spec) {
  CALKIT_TRY(spec.qkv_bias, read_bias(config, "attention_bias", family.qkv_bias, spec.model_type));
  // Where the first three always have one, attention_bias says nothing of the fourth.
  if (family.o_bias == Bias::kStated) {
    CALKIT_TRY(spec.o_bias, read_bias(config, "attention_bias", family.o_bias, spec.model_type));
  }
  CALKIT_TRY(spec.mlp_bias, read_bias(config, "mlp_bias", family.mlp_bias, spec.model_type));
  if (family.qkv_bias == Bias::kStated) note_default(config, "attention_bias", "false", spec);
  if (family.mlp_bias == Bias::kStated) note_default(config, "mlp_bias", "false", spec);
  return {};
}

Status read_weight_dtype(const Cursor& config, std::optional<DType> stored_dtype, ModelSpec& spec) {
  std::optional<std::string> stated;
  for (const char* key : {"dtype", "torch_dtype"})
    if (const auto at = config.find(key)) {
      CALKIT_TRY(const std::string word, at->as_word({"bfloat16", "float16", "float32"}));
      if (stated && *stated != word)
        return at->error(at->value().describe(), fmt::format("\"{}\", as dtype says", *stated));
      stated = word;
    }
  if (stated)
    spec.weight_dtype = *stated == "bfloat16" ? DType::kBF16 : *stated == "float16" ? DType::kF16 : DType::kF32;
  if (stated || !stored_dtype) return {};
  spec.weight_dtype = *stored_dtype;
  spec.notes.push_back(fmt::format("config.json states no dtype; most of the weights are stored in {}",
                                   safetensors_name(*stored_dtype)));
  return {};
}

Status refuse_windows(const Cursor& config, const Family& family, ModelSpec& spec) {
  if (const auto at = config.find("layer_types")) {
    CALKIT_TRY(const auto items, at->items());
    if (items.size() != static_cast<std::size_t>(spec.layers))
      return at->error(fmt::format("{} entries", items.size()),
                       fmt::format("one for each of the {} layers", spec.layers));
    for (const Cursor& item : items) CALKIT_CHECK_OK(item.as_word({"full_attention"}));
  }
  const char* need = "a window needs a cache and a mask of its own, which calkit does not have";
  bool switched_off = family.window == Window::kSwitched;
  if (const auto at = config.find("use_sliding_window")) {
    CALKIT_TRY(const bool used, at->as_bool());
    if (used) return at->error("true", "false: every layer attends to the whole context", need);
    switched_off = family.window != Window::kByDefault;
  }
  const auto window = config.find("sliding_window");
  if (window && !switched_off)
    return window->error(window->value().describe(), "null: every layer attends to the whole context", need);
  if (window && !config.find("use_sliding_window"))
    note_default(config, "use_sliding_window", "false (so sliding_window has no effect)", spec);
  if (family.window == Window::kByDefault && config.value().find("sliding_window") == nullptr)
    return input_error(config.file(), "/sliding_window", "absent", "null, stated",
                       fmt::format("Transformers takes a window of 4096 for {} where it is absent", spec.model_type));
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

/// The element type of most bytes, if the weights can be read: whoever opens them tells why not.
std::optional<DType> stored_dtype_of(const ModelDir& dir) {
  const auto weights = open_weights(dir);
  if (!weights.ok()) return std::nullopt;
  std::map<std::string, std::uint64_t> bytes;
  for (const WeightFile& file : weights->files)
    for (const RawTensor& tensor : file.header.tensors) bytes[tensor.dtype] += tensor.end - tensor.begin;
  const auto most =
      std::max_element(bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most != bytes.end() ? dtype_from_safetensors(most->first) : std::nullopt;
}

bool states_dtype(const Cursor& config) {
  return config.find("dtype") || config.find("torch_dtype");
}

}  // namespace

Result<ModelSpec> parse_spec(const Cursor& config, std::optional<DType> stored_dtype) {
  ModelSpec spec;
  CALKIT_CHECK_OK(refuse_structures(config));
  CALKIT_TRY(const Family* family, read_family(config, spec));
  CALKIT_CHECK_OK(read_architectures(config, *family, spec));
  CALKIT_CHECK_OK(read_sizes(config, *family, spec));
  CALKIT_CHECK_OK(read_numerics(config, spec));
  CALKIT_CHECK_OK(read_biases(config, *family, spec));
  spec.qk_norm = family->qk_norm;
  CALKIT_CHECK_OK(family->experts ? read_experts(config, spec) : refuse_experts(config));
  CALKIT_CHECK_OK(read_rope(config, spec));
  CALKIT_CHECK_OK(refuse_windows(config, *family, spec));
  CALKIT_CHECK_OK(read_weight_dtype(config, stored_dtype, spec));
  CALKIT_CHECK_OK(read_token_ids(config, spec));
  CALKIT_CHECK_OK(check_keys(config, spec));
  return spec;
}

Result<ModelSpec> read_spec(const std::filesystem::path& model_dir) {
  CALKIT_TRY(const ModelDir dir, ModelDir::open(model_dir));
  CALKIT_TRY(const std::string text, dir.read("config.json", 4ull << 20), "reading the model's configuration");
  CALKIT_TRY(const Value document, parse_json(text, dir.shown("config.json")), "reading the model's configuration");
  const Cursor config(document, dir.shown("config.json"));
  return parse_spec(config, states_dtype(config) ? std::nullopt : stored_dtype_of(dir));
}

}  // namespace calkit::hf
