#include <csignal>

#include <atomic>

#include "calkit/base/process.h"

namespace calkit {
namespace {

std::atomic<bool> signal_seen{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may touch lock-free atomics only");

/// The first signal asks for an orderly end; the second one means it.
extern "C" void on_signal(int number) {
  if (signal_seen.exchange(true)) {
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
}

}  // namespace

void install_interrupt_handlers() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: a blocking call returns EINTR and its caller looks at the flag
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() {
  return signal_seen.load(std::memory_order_relaxed);
}

Error interrupted_error() {
  return Error{ErrorKind::kInterrupted, "interrupted; nothing was written"};
}

}  // namespace calkit
