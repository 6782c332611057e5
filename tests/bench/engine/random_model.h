#pragma once
// A checkpoint of Qwen3-0.6B's shape with random BF16 weights (1.19 GB at 28 layers), for benches.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "calkit/base/document.h"
#include "calkit/hf/spec.h"

namespace calkit::bench {

[[noreturn]] inline void stop(const Error& error) {
  std::fprintf(stderr, "bench: %s\n", error.message.c_str());
  std::exit(1);
}

template <class T>
T must(Result<T> result) {
  if (!result.ok()) stop(result.error());
  return std::move(result).value();
}

inline void write_config(const std::filesystem::path& dir, std::int64_t layers) {
  Value config = Value::object({{"architectures", Value::array({"Qwen3ForCausalLM"})},
                                {"attention_bias", false},
                                {"eos_token_id", 151645},
                                {"head_dim", 128},
                                {"hidden_act", "silu"},
                                {"hidden_size", 1024},
                                {"intermediate_size", 3072},
                                {"max_position_embeddings", 40960},
                                {"model_type", "qwen3"},
                                {"num_attention_heads", 16},
                                {"num_hidden_layers", layers},
                                {"num_key_value_heads", 8},
                                {"rms_norm_eps", 1e-6},
                                {"rope_theta", 1000000.0},
                                {"tie_word_embeddings", true},
                                {"torch_dtype", "bfloat16"},
                                {"vocab_size", 151936}});
  std::ofstream(dir / "config.json") << to_json(config);
}

// Small random weights around 0, norms around 1; the values do not matter for speed but must stay finite.
inline void write_weights(const std::filesystem::path& dir, const hf::ModelSpec& spec) {
  Value header = Value::object();
  std::uint64_t end = 0;
  const auto tensors = hf::expected_tensors(spec);
  for (const auto& tensor : tensors) {
    const std::uint64_t elements =
        std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::uint64_t{1},
                        [](std::uint64_t a, std::int64_t b) { return a * static_cast<std::uint64_t>(b); });
    header.set(tensor.name, Value::object({{"dtype", "BF16"},
                                           {"shape", Value::list(tensor.shape)},
                                           {"data_offsets", Value::array({end, end + 2 * elements})}}));
    end += 2 * elements;
  }
  std::string text = to_json(header, {.sorted = false, .indent = -1});
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::ofstream out(dir / "model.safetensors", std::ios::binary);
  const std::uint64_t length = text.size();
  out.write(reinterpret_cast<const char*>(&length), sizeof length);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  std::vector<BF16> block(1u << 20);
  std::uint64_t random = 88172645463325252ull;
  for (auto& value : block) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    value = to_bf16((static_cast<float>(random >> 40) / static_cast<float>(1 << 24) - 0.5f) * 0.08f);
  }
  for (std::uint64_t left = end; left > 0;) {
    const std::uint64_t bytes = std::min<std::uint64_t>(left, block.size() * sizeof(BF16));
    out.write(reinterpret_cast<const char*>(block.data()), static_cast<std::streamsize>(bytes));
    left -= bytes;
  }
}

/// Writes the model, unless its weights are there already.
inline void write_random_model(const std::filesystem::path& dir, std::int64_t layers) {
  std::filesystem::create_directories(dir);
  write_config(dir, layers);
  if (!std::filesystem::exists(dir / "model.safetensors")) write_weights(dir, must(hf::read_spec(dir)));
}

}  // namespace calkit::bench
