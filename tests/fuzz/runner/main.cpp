// Runs one fuzz target without an engine: replays a corpus, then seeded mutations of it. The same seed gives the same
// run. Inputs that reach new code join the corpus of the run where the target was compiled with
// -fsanitize-coverage=trace-pc. libFuzzer and AFL++ can be linked in its place.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>

#include "guard.h"
#include "mutate.h"

namespace {

namespace fs = std::filesystem;
using calkit::fuzz::Bytes;

constexpr char kUsage[] =
    "usage: %s CORPUS_DIR|INPUT... [--runs N] [--seconds N] [--seed N] [--dictionary FILE] [--max-bytes N]\n"
    "          [--memory-base BYTES] [--memory-per-byte BYTES] [--failures DIR] [--keep DIR] [--record FILE]\n"
    "  --runs N      mutations after the corpus (default 0)\n"
    "  --seconds N   stop mutating after this long\n"
    "  --keep DIR    read as more corpus; inputs that reach new code are saved there\n"
    "  --record FILE append one JSON line about the run\n";

struct Options {
  std::vector<fs::path> inputs;
  std::uint64_t runs = 0, seconds = UINT64_MAX, seed = 1, max_bytes = 4096;
  std::string dictionary, failures = ".", keep, record;
  calkit::fuzz::Bounds bounds;
};

[[noreturn]] void stop(const char* format, const char* argument) {
  std::fprintf(stderr, format, argument);
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options out;
  const auto number = [&](int i) {
    char* end = nullptr;
    const std::uint64_t value = i < argc ? std::strtoull(argv[i], &end, 10) : 0;
    if (!end || *end != '\0' || end == argv[i]) stop(kUsage, argv[0]);
    return value;
  };
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("--")) {
      out.inputs.emplace_back(word);
      continue;
    }
    if (++i >= argc) stop(kUsage, argv[0]);
    if (word == "--runs")
      out.runs = number(i);
    else if (word == "--seconds")
      out.seconds = number(i);
    else if (word == "--seed")
      out.seed = number(i);
    else if (word == "--max-bytes")
      out.max_bytes = number(i);
    else if (word == "--memory-base")
      out.bounds.memory_base = number(i);
    else if (word == "--memory-per-byte")
      out.bounds.memory_per_byte = number(i);
    else if (word == "--dictionary")
      out.dictionary = argv[i];
    else if (word == "--failures")
      out.failures = argv[i];
    else if (word == "--keep")
      out.keep = argv[i];
    else if (word == "--record")
      out.record = argv[i];
    else
      stop(kUsage, argv[0]);
  }
  if (out.inputs.empty()) stop(kUsage, argv[0]);
  if (!out.keep.empty()) out.inputs.emplace_back(out.keep);
  return out;
}

Bytes read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) stop("%s cannot be read\n", path.c_str());
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<Bytes> read_all(const std::vector<fs::path>& inputs) {
  std::vector<Bytes> out;
  for (const fs::path& input : inputs) {
    if (!fs::is_directory(input)) {
      out.push_back(read(input));
      continue;
    }
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(input))
      if (entry.is_regular_file()) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) out.push_back(read(file));
  }
  return out;
}

void keep(const std::string& folder, std::uint64_t seed, std::uint64_t run, const Bytes& bytes) {
  if (folder.empty()) return;
  const fs::path path = fs::path(folder) / (std::to_string(seed) + "-" + std::to_string(run));
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

void record(const Options& options, const char* program, std::size_t items, std::uint64_t mutations) {
  const double seconds = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;  // CPU time: machines are shared
  const auto& usage = calkit::fuzz::usage();
  const double rate = seconds > 0 ? static_cast<double>(items + mutations) / seconds : 0;
  std::printf(
      "%zu corpus inputs and %lu mutations of seed %lu: no crash, no hang; %.1f s of CPU, %.0f executions/s, slowest "
      "%.1f "
      "ms\n",
      items, static_cast<unsigned long>(mutations), static_cast<unsigned long>(options.seed), seconds, rate,
      static_cast<double>(usage.slowest_ns) / 1e6);
  if (calkit::fuzz::memory_is_bounded())
    std::printf("at most %lu bytes of heap (for an input of %lu bytes); allowed: %lu + %lu a byte\n",
                static_cast<unsigned long>(usage.peak_bytes), static_cast<unsigned long>(usage.peak_input),
                static_cast<unsigned long>(options.bounds.memory_base),
                static_cast<unsigned long>(options.bounds.memory_per_byte));
  if (const auto edges = calkit::fuzz::all_edges(); edges != 0)
    std::printf("%lu edges reached\n", static_cast<unsigned long>(edges));
  if (options.record.empty()) return;
  std::FILE* out = std::fopen(options.record.c_str(), "a");
  if (!out) stop("%s cannot be written\n", options.record.c_str());
  std::fprintf(out,
               "{\"target\": \"%s\", \"seed\": %lu, \"executions\": %lu, \"cpu_seconds\": %.3f, \"slowest_ms\": %.3f, "
               "\"peak_bytes\": %lu, \"peak_input\": %lu, \"memory_base\": %lu, \"memory_per_byte\": %lu, "
               "\"edges\": %lu}\n",
               fs::path(program).filename().c_str(), static_cast<unsigned long>(options.seed),
               static_cast<unsigned long>(items + mutations), seconds, static_cast<double>(usage.slowest_ns) / 1e6,
               static_cast<unsigned long>(usage.peak_bytes), static_cast<unsigned long>(usage.peak_input),
               static_cast<unsigned long>(options.bounds.memory_base),
               static_cast<unsigned long>(options.bounds.memory_per_byte),
               static_cast<unsigned long>(calkit::fuzz::all_edges()));
  std::fclose(out);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  std::vector<Bytes> corpus = read_all(options.inputs);
  if (corpus.empty()) return std::fprintf(stderr, "%s: no corpus\n", options.inputs[0].c_str()), 1;
  const std::size_t items = corpus.size();
  calkit::fuzz::Mutator mutator(
      options.seed,
      options.dictionary.empty() ? std::vector<Bytes>() : calkit::fuzz::read_dictionary(options.dictionary),
      options.max_bytes);
  calkit::fuzz::install_guard(argv[0], options.failures, options.bounds);
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - began).count(); };
  const auto replay = [&] {
    for (const Bytes& bytes : corpus) calkit::fuzz::execute(bytes.data(), bytes.size());
  };
  replay();
  calkit::fuzz::bound_memory();
  replay();
  calkit::fuzz::take_new_edges();
  std::uint64_t run = 0;
  for (; run < options.runs; ++run) {
    if (run % 64 == 0 && seconds() > static_cast<double>(options.seconds)) break;
    const Bytes& bytes = mutator.next(corpus);
    calkit::fuzz::execute(bytes.data(), bytes.size());
    if (calkit::fuzz::take_new_edges() == 0) continue;
    corpus.push_back(bytes);
    keep(options.keep, options.seed, run, bytes);
  }
  record(options, argv[0], items, run);
  return 0;
}
