// What calbin-lint costs. Hashing beside `sha256sum` over the same files, interleaved: the ratio of one thread, and
// what a second thread brings, of a folder and of its .tar; then the rules on a package of 1500 ops on each of 2 chips,
// which lies in memory. Medians of the clock, and the best processor time, which a busy machine disturbs less. Prints
// one JSON line. Not a test.
//   bench_lint [FOLDER [MIB [ROUNDS]]]   FOLDER for the files (made, and removed again); 1024 MiB, 5 rounds
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

#include "calkit/lint/lint.h"
#include "package_builder.h"

namespace {

namespace fs = std::filesystem;
using namespace calkit;
using Clock = std::chrono::steady_clock;

constexpr int kFiles = 8, kOps = 1500, kRuns = 15;

void write_files(const fs::path& dir, std::uint64_t bytes) {
  fs::create_directories(dir);
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> block((4 << 20) / 8);
  for (int i = 0; i < kFiles; ++i) {
    std::ofstream out(dir / ("blk" + std::to_string(i) + ".bin"), std::ios::binary);
    for (std::uint64_t done = 0; done < bytes / kFiles; done += 4 << 20) {
      for (auto& word : block) word = random();
      out.write(reinterpret_cast<const char*>(block.data()), 4 << 20);
    }
  }
}

/// Seconds by the clock, and of processor time in this process and the ones it waited for.
struct Costs {
  std::vector<double> clock, cpu;

  double median() const {
    auto sorted = clock;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
  double best_clock() const { return *std::min_element(clock.begin(), clock.end()); }
  double best_cpu() const { return *std::min_element(cpu.begin(), cpu.end()); }
};

double cpu_seconds() {
  double out = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    ::getrusage(who, &used);
    for (const timeval& part : {used.ru_utime, used.ru_stime})
      out += static_cast<double>(part.tv_sec) + 1e-6 * static_cast<double>(part.tv_usec);
  }
  return out;
}

template <class Work>
void measure(Costs& costs, const Work& work) {
  const double cpu = cpu_seconds();
  const auto start = Clock::now();
  work();
  costs.clock.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  costs.cpu.push_back(cpu_seconds() - cpu);
}

void shell(const std::string& command) {
  if (std::system(command.c_str()) != 0) {
    std::fprintf(stderr, "bench_lint: failed: %s\n", command.c_str());
    std::exit(1);
  }
}

void hash_all(const fs::path& path, unsigned threads) {
  const auto tree = FileTree::open(path);
  const auto digests = tree.ok() ? tree->hash_all({threads, {}}) : Result<TreeDigests>(tree.error());
  if (!digests.ok() || !tree_digest(*tree, *digests).ok()) {
    std::fprintf(stderr, "bench_lint: %s cannot be hashed\n", path.c_str());
    std::exit(1);
  }
}

struct Rates {
  Costs peer, folder_one, folder_two, tar_one;
};
Rates race(const fs::path& dir, int rounds) {
  Rates out;
  const std::string peer = "sha256sum '" + (dir / "set").string() + "'/*.bin > /dev/null";
  for (int i = 0; i < rounds; ++i) {
    measure(out.peer, [&] { shell(peer); });
    measure(out.folder_one, [&] { hash_all(dir / "set", 1); });
    measure(out.tar_one, [&] { hash_all(dir / "set.tar", 1); });
    measure(out.folder_two, [&] { hash_all(dir / "set", 2); });
  }
  return out;
}

/// The same ops again and again, as far as the list is to go.
void lengthen(calbin::OpList& list) {
  const auto ops = list.ops;
  while (list.ops.size() < kOps) {
    list.ops.push_back(ops[list.ops.size() % ops.size()]);
    list.ops.back().id = static_cast<std::int64_t>(list.ops.size()) - 1;
  }
}

std::shared_ptr<const FileTree> big_package(const fs::path& dir) {
  testing_support::PackageShape shape;
  shape.chips = 2;
  auto package = testing_support::good_package(shape);
  lengthen(package.prefill);
  lengthen(package.decode);
  for (auto& [path, list] : package.more_oplists) lengthen(list);
  package.write(dir);
  std::map<std::string, std::string> files;
  const auto tree = FileTree::open(dir);
  for (const auto& entry : tree->entries())
    if (entry.kind == EntryKind::kFile) files[entry.path] = *tree->read(entry.path);
  return std::make_shared<const FileTree>(FileTree::memory("big.calbin", std::move(files)));
}

struct Rules {
  Costs costs;
  std::size_t findings = 0;
  std::uint64_t bytes = 0;
};
Rules time_rules(const fs::path& dir) {
  Rules out;
  lint::Inputs inputs;
  inputs.package = "big.calbin";
  inputs.tree = big_package(dir);
  for (const auto& entry : inputs.tree->entries()) out.bytes += entry.bytes;
  for (int i = 0; i < kRuns; ++i) {
    measure(out.costs, [&] {
      const auto report = lint::run(inputs);
      if (!report.ok()) std::exit(1);
      out.findings = report->findings.size();
    });
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const fs::path dir =
      argc > 1 ? fs::path(argv[1]) : fs::temp_directory_path() / ("calkit_bench_lint_" + std::to_string(::getpid()));
  const std::uint64_t mib = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1024;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 5;
  write_files(dir / "set", mib << 20);
  shell("tar -C '" + dir.string() + "' -cf '" + (dir / "set.tar").string() + "' set");
  hash_all(dir / "set", 2);  // into the page cache
  hash_all(dir / "set.tar", 2);
  const Rates rates = race(dir, std::max(rounds, 1));
  const Rules rules = time_rules(dir / "big.calbin");
  fs::remove_all(dir);
  const double peer = rates.peer.median(), peer_cpu = rates.peer.best_cpu();
  std::printf(
      "{\"mib\": %llu, \"sha256sum_mib_per_s\": %.0f, \"folder_1_thread_ratio\": %.3f, \"tar_1_thread_ratio\": %.3f, "
      "\"second_thread_speedup\": %.2f, \"folder_cpu_ratio\": %.3f, \"tar_cpu_ratio\": %.3f, "
      "\"sha256sum_mib_per_cpu_s\": %.0f, ",
      static_cast<unsigned long long>(mib), static_cast<double>(mib) / peer, peer / rates.folder_one.median(),
      peer / rates.tar_one.median(), rates.folder_one.median() / rates.folder_two.median(),
      peer_cpu / rates.folder_one.best_cpu(), peer_cpu / rates.tar_one.best_cpu(), static_cast<double>(mib) / peer_cpu);
  std::printf(
      "\"rules_ms_median\": %.1f, \"rules_ms_best\": %.1f, \"rules_cpu_ms_best\": %.1f, \"rules_bar_ms\": 150, "
      "\"package_bytes\": %llu, \"findings\": %zu}\n",
      1e3 * rules.costs.median(), 1e3 * rules.costs.best_clock(), 1e3 * rules.costs.best_cpu(),
      static_cast<unsigned long long>(rules.bytes), rules.findings);
  return 0;
}
