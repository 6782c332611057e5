#pragma once
/// Runs a piece of a test in a forked child: for signals, kills, limits and system call filters.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <utility>

namespace calkit::testing_support {

/// The child's exit status (what `work` returned), or -1 if a signal ended it.
inline int exit_status_in_child(const std::function<int()>& work) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(work());
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// A child that runs until it is killed. `work` gets a function to call when it is where the test wants it.
class StoppedChild {
 public:
  explicit StoppedChild(const std::function<void(const std::function<void()>& here)>& work) {
    int ends[2] = {-1, -1};
    if (::pipe(ends) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      work([&ends] {
        static_cast<void>(!::write(ends[1], "x", 1));
        for (;;) ::pause();
      });
      ::_exit(0);
    }
    ::close(ends[1]);
    char byte = 0;
    arrived_ = ::read(ends[0], &byte, 1) == 1;
    ::close(ends[0]);
  }
  ~StoppedChild() { kill(); }
  StoppedChild(const StoppedChild&) = delete;
  StoppedChild& operator=(const StoppedChild&) = delete;

  bool arrived() const { return arrived_; }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }

 private:
  pid_t pid_ = -1;
  bool arrived_ = false;
};

}  // namespace calkit::testing_support
