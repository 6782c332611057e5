// interrupt_runner CALKIT DATA: every writing command, killed by SIGKILL or SIGINT at 20 seeded points, leaves under
// its final name either nothing or a whole result (the previous one, or its own when it was done first), and the next
// run works and clears what the killed one left.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int kPoints = 20;

struct Writer {
  std::string name;
  std::vector<std::string> argv;  // without the program
  std::string output;             // file or folder, relative to the work folder
  bool measured = false;          // the content is measured anew each time: whole means as many lines
};

struct Exit {
  int code = -1;
  int signal = 0;
};

pid_t start(const fs::path& calkit, const std::vector<std::string>& args) {
  const pid_t child = fork();
  if (child != 0) return child;
  const int null_fd = open("/dev/null", O_WRONLY);
  const int log_fd = open("last.err", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  dup2(null_fd, 1);
  dup2(log_fd, 2);
  std::vector<char*> argv = {const_cast<char*>(calkit.c_str())};
  for (const std::string& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  execv(calkit.c_str(), argv.data());
  _exit(127);
}

Exit wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return {-1, WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

std::string read_all(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Names and contents of everything under a path; empty when there is nothing.
std::string snapshot(const fs::path& path) {
  if (!fs::exists(path)) return {};
  if (fs::is_regular_file(path)) return "file\n" + read_all(path);
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::string out = "folder\n";
  for (const fs::path& file : files) out += fs::relative(file, path).string() + '\n' + read_all(file) + '\n';
  return out;
}

std::string snapshot_of(const Writer& writer) {
  std::string content = snapshot(writer.output);
  if (!writer.measured || content.empty()) return content;
  return std::to_string(std::count(content.begin(), content.end(), '\n')) +
         (content.back() == '\n' ? " lines" : " lines, cut");
}

std::vector<std::string> leftovers() {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator("."))
    if (entry.path().filename().string().find("calkit-tmp") != std::string::npos) out.push_back(entry.path().string());
  return out;
}

void prepare(const fs::path& calkit, const fs::path& data) {
  const std::vector<std::vector<std::string>> steps = {
      {"freeze-baseline", "model", (data / "models/qwen3-qknorm").string(), "--out", "base", "--prompts",
       "prompts.jsonl", "--context", "256", "--kv-dtype", "f32"},
      {"onnx-export", (data / "models/qwen3-qknorm").string(), "--out", "onnx"},
      {"pack", "onnx", "--baseline", "base", "--out", "m.calbin"},
  };
  std::ofstream prompts("prompts.jsonl");
  for (int i = 0; i < 8; ++i)
    prompts << "{\"id\":\"p" << i << "\",\"text\":\"The train left at " << i << ".\",\"add_special_tokens\":false}\n";
  prompts.close();
  std::ofstream("svc.yaml") << "schema: 1\narchitecture: qwen3\ncalbin_version: 1.0.0\nruntime_abi: 0.7.6\ncontext: "
                               "256\nbatch: 1\nvocab: 1600\n"
                               "models: {prefill: m-prefill, decode: m-decode}\n"
                               "tensors: {token: \"inputs[0]\", position: \"inputs[1]\", logits: \"outputs[0]\"}\n"
                               "csr: {current: \"cur_seq_len[0]\", past_current: \"past_kv_cur_seq_len[0]\"}\n";
  for (const auto& step : steps) {
    const Exit exit = wait_for(start(calkit, step));
    if (exit.code != 0) {
      std::cerr << "preparing: " << step[0] << " ended with " << exit.code << "\n" << read_all("last.err");
      std::exit(1);
    }
  }
}

std::vector<Writer> writers(const fs::path& data) {
  const std::string model = (data / "models/qwen3-qknorm").string();
  return {
      {"freeze-baseline",
       {"freeze-baseline", "model", model, "--out", "t.base", "--prompts", "prompts.jsonl", "--evidence", "none",
        "--context", "256", "--kv-dtype", "f32"},
       "t.base"},
      {"onnx-export", {"onnx-export", model, "--out", "t.onnx", "--evidence", "none"}, "t.onnx"},
      {"pack", {"pack", "onnx", "--baseline", "base", "--out", "t.calbin", "--evidence", "none"}, "t.calbin"},
      {"export",
       {"export", "--out", "t.bundle.tar.zst", "--package", "m.calbin", "--baseline", "base", "--onnx", "onnx",
        "--service", "svc.yaml", "--allow-unproven", "--evidence", "none"},
       "t.bundle.tar.zst"},
      {"bench",
       {"bench", "m.calbin", "--service", "svc.yaml", "--prompt-lengths", "4", "--output-lengths", "4", "--concurrency",
        "1", "--requests", "2", "--csv", "t.bench.csv", "--evidence", "none"},
       "t.bench.csv",
       true},
      {"soak",
       {"soak", "m.calbin", "--service", "svc.yaml", "--cycles", "5", "--csv", "t.soak.csv", "--evidence", "none"},
       "t.soak.csv",
       true},
      {"gate", {"gate", "evidence", "--html", "t.html", "--evidence", "none"}, "t.html"},
  };
}

// One kill. Returns what is wrong, or nothing.
std::string kill_once(const fs::path& calkit, const Writer& writer, double after_s, bool hard, const std::string& whole,
                      bool had_previous) {
  const std::vector<std::string> before = leftovers();  // of an earlier SIGKILL; the next whole run clears them
  const pid_t child = start(calkit, writer.argv);
  std::this_thread::sleep_for(std::chrono::duration<double>(after_s));
  kill(child, hard ? SIGKILL : SIGINT);
  const Exit exit = wait_for(child);
  const std::string left = snapshot_of(writer);
  if (!left.empty() && left != whole) return "a partial result under its final name";
  if (left.empty() && had_previous) return "the previous result is gone";
  if (hard) return {};
  if (exit.signal == SIGINT && left.empty()) return {};  // the signal came before the handlers were there
  if (exit.signal != 0 && exit.signal != SIGINT) return "died by signal " + std::to_string(exit.signal);
  if (exit.signal == 0 && exit.code == 127) return "could not be started";
  for (const std::string& left_over : leftovers())
    if (exit.code == 130 && std::find(before.begin(), before.end(), left_over) == before.end())
      return "left " + left_over + " behind after SIGINT";
  return {};
}

int check(const fs::path& calkit, const Writer& writer, std::mt19937_64& random) {
  fs::remove_all(writer.output);
  const auto begin = Clock::now();
  const Exit first = wait_for(start(calkit, writer.argv));
  const double took = std::chrono::duration<double>(Clock::now() - begin).count();
  const std::string whole = snapshot_of(writer);
  if (first.signal != 0 || whole.empty()) {
    std::cout << "FAIL  " << writer.name << ": the undisturbed run ended with " << first.code << "\n"
              << read_all("last.err");
    return 1;
  }
  int bad = 0, missing = 0;
  std::uniform_real_distribution<double> moment(0.0, 1.1 * took);
  for (int point = 0; point < kPoints; ++point) {
    const bool previous = point % 4 >= 2;  // half of the points with an earlier result in place
    if (!previous) fs::remove_all(writer.output);
    if (previous && snapshot_of(writer).empty()) wait_for(start(calkit, writer.argv));
    const double after = moment(random);
    const std::string problem = kill_once(calkit, writer, after, point % 2 == 0, whole, previous);
    missing += snapshot_of(writer).empty();
    if (problem.empty()) continue;
    std::cout << "      point " << point << " after " << after << " s: " << problem << '\n';
    ++bad;
  }
  const Exit last = wait_for(start(calkit, writer.argv));
  if (last.code != first.code || snapshot_of(writer) != whole) std::cout << "      the next run does not work\n", ++bad;
  if (!leftovers().empty()) std::cout << "      the next run left " << leftovers().front() << '\n', ++bad;
  if (missing == 0) std::cout << "      no kill came before the result: the points prove nothing\n", ++bad;
  std::cout << (bad ? "FAIL  " : "ok    ") << writer.name << ": " << kPoints << " kills, " << missing
            << " before the result was there\n";
  return bad ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "usage: interrupt_runner CALKIT DATA\n", 2;
  const fs::path calkit = fs::absolute(argv[1]), data = fs::absolute(argv[2]);
  const fs::path work = fs::temp_directory_path() / ("calkit-interrupt-" + std::to_string(getpid()));
  fs::create_directories(work);
  fs::current_path(work);
  prepare(calkit, data);
  std::mt19937_64 random(20261130);
  int failed = 0, all = 0;
  for (const Writer& writer : writers(data)) failed += check(calkit, writer, random), ++all;
  fs::current_path("/");
  fs::remove_all(work);
  std::cout << all - failed << " cases passed, " << failed << " failed\n";
  return failed == 0 ? 0 : 1;
}
