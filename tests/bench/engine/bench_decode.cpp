// Decode speed against the memory bound: a random BF16 model of Qwen3-0.6B's shape, batch 1, one thread, context 128.
//   bound = bytes of weights read for a token / bandwidth of a plain read loop, measured between the rounds of this
//   run.
// Prints a line of text to stderr and one JSON line to stdout. The bar is a fraction of 0.5. Not a test.
//   bench_decode [--layers 28] [--rounds 7] [--tokens 4] [--dir FOLDER]   FOLDER keeps the model for the next run
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "calkit/base/document.h"
#include "calkit/base/process.h"
#include "calkit/exec/llm.h"
#include "calkit/hf/checkpoint.h"
#include "calkit/hf/spec.h"
#include "calkit/model/graph.h"
#include "random_model.h"

namespace {

using namespace calkit;
using bench::must;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kContext = 128;
constexpr std::size_t kReadBytes = 512u << 20;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
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
  const std::string given = option(argc, argv, "--dir", "");
  const fs::path dir = given.empty() ? fs::temp_directory_path() / ("calkit_bench_decode_" + std::to_string(::getpid()))
                                     : fs::path(given);
  bench::write_random_model(dir, layers);
  const hf::ModelSpec spec = must(hf::read_spec(dir));

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
