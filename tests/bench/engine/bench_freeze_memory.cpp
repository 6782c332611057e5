// Peak memory of `calkit freeze-baseline model --dtype bf16` on a model of Qwen3-0.6B's shape: RSS, mapped pages
// included. The bar is the weights plus 400 MB. Prints one JSON line. Not a test.
//   bench_freeze_memory CALKIT_BINARY [FOLDER]   FOLDER keeps the model for the next run
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random_model.h"

namespace {

namespace fs = std::filesystem;
using namespace calkit;

constexpr std::uint64_t kAllowedBeside = 400'000'000;

// Texts of several lengths; the tokenizer is the bundled model's, whose ids fit any vocabulary.
void write_inputs(const fs::path& dir) {
  for (const char* file : {"tokenizer.json", "tokenizer_config.json"})
    fs::copy_file(fs::path(CALKIT_TEST_DATA) / "models/tiny-dense" / file, dir / file,
                  fs::copy_options::overwrite_existing);
  std::ofstream prompts(dir / "prompts.jsonl");
  std::string text;
  for (int i = 0; i < 6; ++i) {
    text += "The fox looked at the rain and said nothing for a while. ";
    prompts << to_json(Value::object({{"id", "p" + std::to_string(i)}, {"text", text}, {"add_special_tokens", false}}),
                       {.sorted = true, .indent = -1})
            << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: bench_freeze_memory CALKIT_BINARY [FOLDER]\n");
    return 2;
  }
  const bool keep = argc > 2;
  const fs::path dir =
      keep ? fs::path(argv[2]) : fs::temp_directory_path() / ("calkit_bench_freeze_" + std::to_string(::getpid()));
  bench::write_random_model(dir, 28);
  write_inputs(dir);
  const std::string out = dir.string() + "-baseline", prompts = (dir / "prompts.jsonl").string();
  const pid_t child = ::fork();
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stdout) == nullptr) ::_exit(127);
    ::execl(argv[1], argv[1], "freeze-baseline", "model", dir.c_str(), "--out", out.c_str(), "--dtype", "bf16",
            "--steps", "4", "--prompts", prompts.c_str(), "--evidence", "none", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  int status = 0;
  struct rusage usage{};
  if (child < 0 || ::wait4(child, &status, 0, &usage) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    std::fprintf(stderr, "bench_freeze_memory: the command failed\n");
    return 1;
  }
  const std::uint64_t weights = fs::file_size(dir / "model.safetensors");
  const std::uint64_t peak = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  const Value line =
      Value::object({{"bench", "freeze_memory"},
                     {"weight_bytes", weights},
                     {"peak_rss_bytes", peak},
                     {"beside_weights_bytes", static_cast<std::int64_t>(peak) - static_cast<std::int64_t>(weights)},
                     {"allowed_beside_bytes", kAllowedBeside}});
  std::printf("%s\n", to_json(line, {.sorted = true, .indent = -1}).c_str());
  fs::remove_all(out);
  if (!keep) fs::remove_all(dir);
  return 0;
}
