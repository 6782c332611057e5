#include "spec_family.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace calkit::hf {
namespace {

// Defaults as in Transformers 5.24.0.
constexpr std::array<Family, 5> kFamilies = {{
    {.type = "llama",
     .architecture = "LlamaForCausalLM",
     .qkv_bias = Bias::kStated,
     .o_bias = Bias::kStated,
     .mlp_bias = Bias::kStated,
     .max_positions = 2048},
    {.type = "mistral",
     .architecture = "MistralForCausalLM",
     .window = Window::kByDefault,
     .kv_heads = 8,
     .max_positions = 131072},
    {.type = "qwen2",
     .architecture = "Qwen2ForCausalLM",
     .qkv_bias = Bias::kAlways,
     .window = Window::kSwitched,
     .kv_heads = 32,
     .max_positions = 32768},
    {.type = "qwen3",
     .architecture = "Qwen3ForCausalLM",
     .qkv_bias = Bias::kStated,
     .o_bias = Bias::kStated,
     .qk_norm = true,
     .window = Window::kSwitched,
     .head_dim = 128,
     .kv_heads = 32,
     .max_positions = 32768},
    {.type = "qwen3_moe",
     .architecture = "Qwen3MoeForCausalLM",
     .qkv_bias = Bias::kStated,
     .o_bias = Bias::kStated,
     .qk_norm = true,
     .experts = true,
     .window = Window::kSwitched,
     .kv_heads = 4,
     .max_positions = 32768},
}};

}  // namespace

const Family* find_family(std::string_view model_type) {
  for (const Family& family : kFamilies)
    if (family.type == model_type) return &family;
  return nullptr;
}

bool is_known_architecture(std::string_view name) {
  return std::any_of(kFamilies.begin(), kFamilies.end(), [&](const Family& f) { return f.architecture == name; });
}

std::string family_types() {
  std::string out;
  for (const Family& family : kFamilies) out += fmt::format("{}{}", out.empty() ? "" : ", ", family.type);
  return out;
}

void note_default(const Cursor& config, std::string_view key, std::string_view value, ModelSpec& spec) {
  if (config.find(key)) return;
  spec.notes.push_back(fmt::format("config.json states no {}; Transformers takes {} for {}, and so does calkit", key,
                                   value, spec.model_type));
}

}  // namespace calkit::hf
