// bench_help CALKIT: wall time of `--help` of calkit and of each subcommand, as whole processes, beside /bin/true in
// the same run (what starting any process costs here). Bar: 20 ms each on a quiet machine.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr int kRounds = 21;
constexpr double kBarMs = 20;

double run_ms(const std::vector<std::string>& args) {
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    const int null_fd = open("/dev/null", O_WRONLY);
    dup2(null_fd, 1);
    std::vector<char*> argv;
    for (const std::string& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return -1;
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: bench_help CALKIT\n"), 2;
  const std::string calkit = argv[1];
  std::vector<std::vector<std::string>> commands = {{"/bin/true"}, {calkit, "--help"}};
  for (const char* name : {"triage", "freeze-baseline", "onnx-export", "onnx-inventory", "pack", "calbin-lint",
                           "runner", "bench", "soak", "export", "gate"})
    commands.push_back({calkit, name, "--help"});
  std::vector<std::vector<double>> times(commands.size());
  for (int round = 0; round < kRounds; ++round)  // interleaved
    for (std::size_t i = 0; i < commands.size(); ++i) times[i].push_back(run_ms(commands[i]));
  int over = 0;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    std::sort(times[i].begin(), times[i].end());
    const double median = times[i][times[i].size() / 2];
    const bool bad = times[i].front() < 0 || (i > 0 && median > kBarMs);
    over += bad;
    std::printf("%-18s median %6.2f ms  max %6.2f ms%s\n",
                commands[i].size() > 2 ? commands[i][1].c_str() : commands[i][0].c_str(), median, times[i].back(),
                bad ? "  OVER THE BAR" : "");
  }
  return over == 0 ? 0 : 1;
}
