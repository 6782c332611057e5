// runner CORPUS_DIR RUNS: replays every corpus file, then RUNS seeded mutations of them, through one fuzz target.
// Any libFuzzer-style engine can be linked in its place. Exit 0: no crash, and the corpus was not empty.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;
constexpr std::size_t kMaxInput = 1 << 16;

std::vector<Bytes> read_corpus(const std::filesystem::path& dir) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(dir))
    if (entry.is_regular_file()) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> corpus;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return corpus;
}

void flip_bit(Bytes& bytes, std::mt19937_64& random) {
  if (!bytes.empty()) bytes[random() % bytes.size()] ^= static_cast<std::uint8_t>(1u << (random() % 8));
}

void set_interesting(Bytes& bytes, std::mt19937_64& random) {
  static constexpr std::uint8_t kValues[] = {0, 1, 0x7f, 0x80, 0xff, '"', '{', '[', '-', '.', '/', '\\', '\n', '9'};
  if (!bytes.empty()) bytes[random() % bytes.size()] = kValues[random() % std::size(kValues)];
}

void erase_piece(Bytes& bytes, std::mt19937_64& random) {
  if (bytes.empty()) return;
  const std::size_t at = random() % bytes.size();
  const std::size_t count = std::min<std::size_t>(1 + random() % 16, bytes.size() - at);
  bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin() + static_cast<std::ptrdiff_t>(at + count));
}

void copy_piece(Bytes& bytes, const Bytes& from, std::mt19937_64& random) {
  if (from.empty() || bytes.size() > kMaxInput) return;
  const std::size_t at = random() % from.size();
  const std::size_t count = std::min<std::size_t>(1 + random() % 64, from.size() - at);
  const std::size_t to = bytes.empty() ? 0 : random() % bytes.size();
  bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(to), from.begin() + static_cast<std::ptrdiff_t>(at),
               from.begin() + static_cast<std::ptrdiff_t>(at + count));
}

Bytes mutate(const std::vector<Bytes>& corpus, std::mt19937_64& random) {
  Bytes bytes = corpus[random() % corpus.size()];
  for (std::uint64_t steps = 1 + random() % 6; steps > 0; --steps) {
    switch (random() % 5) {
      case 0:
        flip_bit(bytes, random);
        break;
      case 1:
        set_interesting(bytes, random);
        break;
      case 2:
        erase_piece(bytes, random);
        break;
      case 3:
        copy_piece(bytes, corpus[random() % corpus.size()], random);
        break;
      default:
        bytes.resize(bytes.size() - (bytes.empty() ? 0 : random() % std::min<std::size_t>(bytes.size(), 32)));
    }
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: %s CORPUS_DIR RUNS\n", argv[0]), 2;
  const std::vector<Bytes> corpus = read_corpus(argv[1]);
  if (corpus.empty()) return std::fprintf(stderr, "%s: no corpus\n", argv[1]), 1;
  for (const Bytes& bytes : corpus) LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  std::mt19937_64 random(20261130);
  const long runs = std::atol(argv[2]);
  for (long i = 0; i < runs; ++i) {
    const Bytes bytes = mutate(corpus, random);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::printf("%zu corpus files, %ld mutations, no crash\n", corpus.size(), runs);
  return 0;
}
