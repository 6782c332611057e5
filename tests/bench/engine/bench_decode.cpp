// Decode speed against the memory bound: a random BF16 model of Qwen3-0.6B's shape, batch 1, one thread, context 128.
//   bound = bytes of weights read for a token / bandwidth of a plain read loop, measured between the rounds of this
//   run.
// Prints a line of text to stderr and one JSON line to stdout. The bar is a fraction of 0.5. Not a test.
//   bench_decode [--layers 28] [--rounds 7] [--tokens 4] [--dir FOLDER]   FOLDER keeps the model for the next run
//   bench_decode --make FOLDER                                            writes the model and stops
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "calkit/base/document.h"
#include "calkit/base/process.h"
#include "calkit/exec/llm.h"
#include "calkit/hf/checkpoint.h"
#include "calkit/hf/spec.h"
#include "calkit/model/graph.h"

namespace {

using namespace calkit;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kContext = 128;
constexpr std::size_t kReadBytes = 512u << 20;

[[noreturn]] void stop(const Error& error) {
  std::fprintf(stderr, "bench_decode: %s\n", error.message.c_str());
  std::exit(1);
}

template <class T>
T must(Result<T> result) {
  if (!result.ok()) stop(result.error());
  return std::move(result).value();
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

void write_config(const fs::path& dir, std::int64_t layers) {
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
void write_weights(const fs::path& dir, const hf::ModelSpec& spec) {
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

// Bytes per second of reading memory once, front to back: the C library's search for a byte that is not there, which
// reads as fast as one core can.
double read_loop(const std::vector<char>& buffer) {
  const auto start = Clock::now();
  const void* found = std::memchr(buffer.data(), 1, buffer.size());
  const double seconds = seconds_since(start);
  if (found != nullptr) std::abort();
  return static_cast<double>(buffer.size()) / seconds;
}

std::string option(int argc, char** argv, const std::string& name, const std::string& otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (argv[i] == name) return argv[i + 1];
  return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t layers = std::atoll(option(argc, argv, "--layers", "28").c_str());
  const int rounds = std::atoi(option(argc, argv, "--rounds", "7").c_str());
  const int tokens = std::atoi(option(argc, argv, "--tokens", "4").c_str());
  const std::string made = option(argc, argv, "--make", "");
  const std::string given = option(argc, argv, "--dir", made);
  const fs::path dir = given.empty() ? fs::temp_directory_path() / ("calkit_bench_decode_" + std::to_string(::getpid()))
                                     : fs::path(given);
  fs::create_directories(dir);
  write_config(dir, layers);
  const hf::ModelSpec spec = must(hf::read_spec(dir));
  if (!fs::exists(dir / "model.safetensors")) write_weights(dir, spec);
  if (!made.empty()) return 0;

  const auto weights = must(hf::Checkpoint::open(dir));
  auto graphs = must(model::build_graphs(spec, weights, DType::kBF16));
  auto model = must(exec::LanguageModel::create(std::move(graphs.prefill), std::move(graphs.decode)));
  std::vector<std::int32_t> prompt(static_cast<std::size_t>(kContext));
  for (std::size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<std::int32_t>(i * 977 % 151936);
  const auto prefill_start = Clock::now();
  must(model.prefill(prompt));
  const double prefill_s = seconds_since(prefill_start);
  must(model.decode(1));  // warms what the first token touches

  const std::vector<char> buffer(kReadBytes, 0x55);
  std::vector<double> rates, bandwidths, fractions;
  for (int round = 0; round < rounds; ++round) {
    const double before = read_loop(buffer);
    const auto start = Clock::now();
    for (int i = 0; i < tokens; ++i) must(model.decode(static_cast<std::int32_t>(1000 + i)));
    const double rate = tokens / seconds_since(start);
    const double bandwidth = std::max(before, read_loop(buffer));
    rates.push_back(rate);
    bandwidths.push_back(bandwidth);
    fractions.push_back(rate * static_cast<double>(weights.weight_bytes()) / bandwidth);
  }
  if (given.empty()) fs::remove_all(dir);
  const Value line = Value::object({{"bench", "decode"},
                                    {"dispatch", exec::dispatch_name()},
                                    {"layers", layers},
                                    {"rounds", rounds},
                                    {"context_tokens", kContext},
                                    {"weight_bytes_per_token", weights.weight_bytes()},
                                    {"decode_tokens_per_s", median(rates)},
                                    {"read_bytes_per_s", median(bandwidths)},
                                    {"fraction_of_memory_bound", median(fractions)},
                                    {"prefill_tokens_per_s", static_cast<double>(kContext) / prefill_s},
                                    {"peak_rss_bytes", peak_rss_bytes()}});
  std::fprintf(stderr, "decode: %.2f tokens/s, %.1f GB/s of %.1f GB/s read: %.2f of the memory bound (bar 0.5)\n",
               median(rates), median(rates) * static_cast<double>(weights.weight_bytes()) / 1e9,
               median(bandwidths) / 1e9, median(fractions));
  std::printf("%s\n", to_json(line, {.sorted = true, .indent = -1}).c_str());
  return 0;
}
