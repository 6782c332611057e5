#pragma once
/// The architecture families that calkit runs (private to hf): one row each, with what Transformers takes where
/// config.json is silent.
#include <cstdint>
#include <string_view>

#include "calkit/hf/spec.h"

namespace calkit::hf {

enum class Bias { kNever, kStated, kAlways };  ///< never; as its key says (default false); always, whatever is stated
enum class Window { kNone, kSwitched, kByDefault };

struct Family {
  std::string_view type;          ///< model_type
  std::string_view architecture;  ///< the one name allowed in architectures
  Bias qkv_bias = Bias::kNever;   ///< kStated: attention_bias
  Bias o_bias = Bias::kNever;     ///< kStated: attention_bias
  Bias mlp_bias = Bias::kNever;   ///< kStated: mlp_bias
  bool qk_norm = false;
  bool experts = false;
  /// kNone: the family has no window. kSwitched: only where use_sliding_window is true. kByDefault: sliding_window
  /// must be null, since Transformers takes a number where it is absent.
  Window window = Window::kNone;
  std::int64_t head_dim = 0;  ///< where absent; 0: hidden_size / num_attention_heads
  std::int64_t kv_heads = 0;  ///< where absent; 0: num_attention_heads
  std::int64_t max_positions = 0;
};

/// Defaults that all families share.
inline constexpr double kDefaultEps = 1e-6, kDefaultTheta = 10000;

const Family* find_family(std::string_view model_type);
/// True if `name` is the architecture of some row.
bool is_known_architecture(std::string_view name);
/// "llama, mistral, ...", and the architectures likewise.
std::string family_types();

/// "config.json states no KEY; Transformers takes VALUE for TYPE, and so does calkit"
void note_default(const Cursor& config, std::string_view key, std::string_view value, ModelSpec& spec);

}  // namespace calkit::hf
