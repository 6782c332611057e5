// case_runner CALKIT DATA CASE...: runs CLI cases (format: tests/cli/README.md), each in an empty folder of its own.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace fs = std::filesystem;

namespace {

constexpr auto kTimeLimit = std::chrono::seconds(60);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr long kMemoryLimitKiB = 0;  // a sanitizer's own memory says nothing
#else
constexpr long kMemoryLimitKiB = 256 << 10;
#endif

struct Case {
  fs::path path;
  std::string comment;                          // the first comment line
  std::map<std::string, std::string> sections;  // "run" and "exit" hold the rest of their line
};

struct Outcome {
  int exit_code = -1;
  std::string failure;  // a signal or the time limit
  std::string out, err;
};

std::string read_all(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool starts_with(const std::string& text, const std::string& prefix) {
  return text.rfind(prefix, 0) == 0;
}

Case parse_case(const fs::path& path) {
  Case result{path, {}, {}};
  std::istringstream in(read_all(path));
  std::string line, section;
  while (std::getline(in, line)) {
    if (starts_with(line, "  ")) {
      result.sections[section] += line.substr(2) + '\n';
    } else if (line.empty() && !section.empty() && section != "run" && section != "exit") {
      result.sections[section] += '\n';  // a blank line inside a body
    } else if (starts_with(line, "#")) {
      if (result.comment.empty()) result.comment = line.substr(1);
    } else if (const auto colon = line.find(':'); colon != std::string::npos) {
      section = line.substr(0, colon);
      result.sections[section] += line.size() > colon + 2 ? line.substr(colon + 2) : std::string();
    }
  }
  for (auto& [name, body] : result.sections)  // blank lines before the next section belong to nobody
    while (body.size() >= 2 && body.substr(body.size() - 2) == "\n\n") body.pop_back();
  for (auto& [name, body] : result.sections)
    if (body == "\n") body.clear();
  return result;
}

// {*} matches any text inside one line.
bool line_matches(const std::string& pattern, const std::string& line) {
  const auto star = pattern.find("{*}");
  if (star == std::string::npos) return pattern == line;
  if (!starts_with(line, pattern.substr(0, star))) return false;
  const std::string rest = pattern.substr(star + 3);
  for (std::size_t at = star; at <= line.size(); ++at)
    if (line_matches(rest, line.substr(at))) return true;
  return false;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

// {...} matches any number of lines.
bool lines_match(const std::vector<std::string>& pattern, std::size_t p, const std::vector<std::string>& text,
                 std::size_t t) {
  if (p == pattern.size()) return t == text.size();
  if (pattern[p] == "{...}") {
    for (std::size_t next = t; next <= text.size(); ++next)
      if (lines_match(pattern, p + 1, text, next)) return true;
    return false;
  }
  return t < text.size() && line_matches(pattern[p], text[t]) && lines_match(pattern, p + 1, text, t + 1);
}

bool matches(const std::string& pattern, const std::string& text) {
  return lines_match(lines_of(pattern), 0, lines_of(text), 0);
}

[[noreturn]] void become_shell(const fs::path& dir, const std::string& script, const fs::path& out,
                               const fs::path& err) {
  setpgid(0, 0);
  if (chdir(dir.c_str()) != 0) _exit(126);
  const int null_fd = open("/dev/null", O_RDONLY);
  const int out_fd = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const int err_fd = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  dup2(null_fd, 0);
  dup2(out_fd, 1);
  dup2(err_fd, 2);
  execl("/bin/sh", "sh", "-eu", "-c", script.c_str(), nullptr);
  _exit(127);
}

Outcome run_shell(const fs::path& dir, const std::string& script, const fs::path& logs) {
  const fs::path out = logs / "stdout", err = logs / "stderr";
  const pid_t child = fork();
  if (child == 0) become_shell(dir, script, out, err);
  Outcome outcome;
  int status = 0;
  rusage usage{};
  const auto end = std::chrono::steady_clock::now() + kTimeLimit;
  while (wait4(child, &status, WNOHANG, &usage) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      kill(-child, SIGKILL);
      wait4(child, &status, 0, &usage);
      outcome.failure = "took longer than 60 s";
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (outcome.failure.empty() && WIFSIGNALED(status))
    outcome.failure = "died by signal " + std::to_string(WTERMSIG(status));
  if (kMemoryLimitKiB > 0 && usage.ru_maxrss > kMemoryLimitKiB)
    outcome.failure = "held " + std::to_string(usage.ru_maxrss >> 10) + " MiB of memory";
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  // A shell tells a child's death by a signal as 128 + its number; 130 is our own code for an interrupt.
  if (outcome.exit_code > 128 && outcome.exit_code != 130)
    outcome.failure = "died by signal " + std::to_string(outcome.exit_code - 128);
  outcome.out = read_all(out);
  outcome.err = read_all(err);
  return outcome;
}

std::string indented(const std::string& text) {
  std::string out;
  for (const std::string& line : lines_of(text)) out += line.empty() ? "\n" : "  " + line + '\n';
  return out;
}

void rewrite(const Case& test, const Outcome& got) {
  std::ostringstream text;
  text << '#' << test.comment << '\n';
  if (test.sections.count("setup")) text << "setup:\n" << indented(test.sections.at("setup"));
  text << "run: " << test.sections.at("run") << "\nexit: " << got.exit_code << '\n';
  if (test.sections.count("stdout")) text << "stdout:\n" << indented(got.out);
  if (test.sections.count("stderr")) text << "stderr:\n" << indented(got.err);
  if (test.sections.count("check")) text << "check:\n" << indented(test.sections.at("check"));
  std::ofstream(test.path, std::ios::binary) << text.str();
}

std::string difference(const std::string& name, const std::string& want, const std::string& got) {
  return name + " differs\n--- wanted\n" + want + "--- got\n" + got + "---\n";
}

std::string judge(const Case& test, const Outcome& got) {
  std::string problems;
  if (!got.failure.empty()) problems += got.failure + "\n";
  const std::string want_exit = test.sections.at("exit");
  if (std::to_string(got.exit_code) != want_exit)
    problems += "exit code " + std::to_string(got.exit_code) + ", wanted " + want_exit + "\n";
  if (test.sections.count("stdout") && !matches(test.sections.at("stdout"), got.out))
    problems += difference("stdout", test.sections.at("stdout"), got.out);
  if (test.sections.count("stderr") && !matches(test.sections.at("stderr"), got.err))
    problems += difference("stderr", test.sections.at("stderr"), got.err);
  if (!problems.empty() && got.failure.empty() && std::getenv("CALKIT_UPDATE_GOLDEN")) rewrite(test, got);
  if (!problems.empty()) problems += "stderr was:\n" + got.err;
  return problems;
}

/// What a case left running may still write or remove something: a folder that resists is tried again for a second.
void remove_folder(const fs::path& dir) {
  std::error_code busy;
  for (int tries = 0; tries < 50; ++tries) {
    fs::remove_all(dir, busy);
    if (!busy) return;
    ::usleep(20000);
  }
}

std::string run_case(const Case& test, const fs::path& calkit) {
  for (const char* needed : {"run", "exit"})
    if (!test.sections.count(needed)) return std::string("the case has no `") + needed + ":`\n";
  const std::string name = "calkit-case-" + std::to_string(getpid());
  const fs::path base = fs::temp_directory_path() / name;
  remove_folder(base);
  const fs::path work = base / "work";
  fs::create_directories(work);
  const std::string prelude = "CALKIT=\"" + calkit.string() + "\"; calkit() { \"$CALKIT\" \"$@\"; }\n";
  std::string problems;
  if (test.sections.count("setup")) {
    const Outcome setup = run_shell(work, prelude + test.sections.at("setup"), base);
    if (setup.exit_code != 0)
      problems = "setup failed: exit " + std::to_string(setup.exit_code) + "\n" + setup.out + setup.err;
  }
  if (problems.empty()) problems = judge(test, run_shell(work, prelude + "set +e\n" + test.sections.at("run"), base));
  if (problems.empty() && test.sections.count("check")) {
    const Outcome check = run_shell(work, prelude + test.sections.at("check"), base);
    if (check.exit_code != 0)
      problems = "check failed: exit " + std::to_string(check.exit_code) + "\n" + check.out + check.err;
  }
  remove_folder(base);
  return problems;
}

void clean_environment(const std::string& data) {
  std::vector<std::string> ours;
  for (char** entry = environ; *entry; ++entry)
    if (std::strncmp(*entry, "CALKIT_", 7) == 0 && !std::strncmp(*entry, "CALKIT_UPDATE_GOLDEN", 20) == 0)
      ours.emplace_back(*entry, std::strchr(*entry, '='));
  if (const char* source = std::getenv("CALKIT_SOURCE_DIR")) setenv("SRC", source, 1);
  for (const std::string& name : ours) unsetenv(name.c_str());
  setenv("DATA", data.c_str(), 1);
  setenv("NO_COLOR", "1", 1);
  setenv("LC_ALL", "C.UTF-8", 1);
  setenv("TZ", "UTC", 1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::cerr << "usage: case_runner CALKIT DATA CASE...\n", 2;
  const fs::path calkit = fs::absolute(argv[1]);
  clean_environment(fs::absolute(argv[2]).string());
  int failed = 0;
  for (int i = 3; i < argc; ++i) {
    const Case test = parse_case(argv[i]);
    const std::string problems = run_case(test, calkit);
    std::cout << (problems.empty() ? "ok    " : "FAIL  ") << test.path.filename().string() << ' ' << test.comment
              << '\n';
    if (!problems.empty()) std::cout << problems, ++failed;
  }
  std::cout << argc - 3 - failed << " cases passed, " << failed << " failed\n";
  return failed == 0 ? 0 : 1;
}
