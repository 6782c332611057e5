#include "calkit/base/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "calkit/base/process.h"

namespace calkit {
namespace {

class SpawnSettings {
 public:
  explicit SpawnSettings(bool show_output) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (show_output) {
      ::posix_spawn_file_actions_adddup2(&actions_, STDERR_FILENO, STDOUT_FILENO);
    } else {
      ::posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
      ::posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    }
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  Result<pid_t> start(const std::string& command) const {
    pid_t child = 0;
    const char* const argv[] = {"sh", "-c", command.c_str(), nullptr};
    const int failed =
        ::posix_spawn(&child, "/bin/sh", &actions_, &attributes_, const_cast<char* const*>(argv), environ);
    if (failed != 0) return Error(ErrorKind::kIo, fmt::format("starting /bin/sh: {}", std::strerror(failed)));
    return child;
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

/// True once the child has ended; it is not reaped, so that its number still names its group.
bool has_ended(pid_t child) {
  siginfo_t info{};
  const int failed = ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT);
  return failed != 0 ? errno != EINTR : info.si_pid == child;
}

int reap_group(pid_t child) {
  ::kill(-child, SIGKILL);
  int state = 0;
  while (::waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
}

}  // namespace

Result<ChildExit> run_shell(const std::string& command, std::chrono::milliseconds limit, bool show_output) {
  CALKIT_TRY(const pid_t child, SpawnSettings(show_output).start(command));
  const Deadline deadline = Deadline::in(limit);
  ChildExit out;
  for (auto pause = std::chrono::milliseconds(1); !has_ended(child);
       pause = std::min(2 * pause, std::chrono::milliseconds(20))) {
    out.timed_out = deadline.passed();
    if (out.timed_out || interrupted()) break;
    std::this_thread::sleep_for(pause);
  }
  out.code = reap_group(child);
  if (interrupted()) return interrupted_error();
  return out;
}

std::string shell_word(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace calkit
