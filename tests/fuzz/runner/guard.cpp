#include "guard.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>

extern "C" {
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// The sanitizers' own interface; absent from a build without them.
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, std::size_t),
                                              void (*on_free)(const volatile void*)) __attribute__((weak));
std::size_t __sanitizer_get_allocated_size(const volatile void*) __attribute__((weak));
void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));
void __sanitizer_print_stack_trace() __attribute__((weak));

const char* __asan_default_options() {
  return "malloc_context_size=12:quarantine_size_mb=16:allocator_may_return_null=0:handle_abort=0:detect_stack_use_"
         "after_return=0";
}
const char* __ubsan_default_options() {
  return "print_stacktrace=1";
}
}

namespace calkit::fuzz {
namespace {

struct State {
  std::string program, folder;
  Bounds bounds;
  const std::uint8_t* data = nullptr;
  std::size_t size = 0;
  std::atomic<bool> running = false, saved = false;
  bool bounded = false;
  std::atomic<std::uint64_t> live = 0, peak = 0, start = 0, most = UINT64_MAX;
  std::uint64_t began_cpu = 0;
  unsigned wall_ticks = 0;
  clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
};
State state;
Usage used;

std::uint64_t cpu_now() {
  timespec now{};
  ::clock_gettime(state.clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t fingerprint(const std::uint8_t* data, std::size_t size) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ data[i]) * 0x100000001b3;
  return hash;
}

void save_input(const char* what) {
  if (!state.running || state.saved.exchange(true)) return;
  char name[512];
  ::snprintf(name, sizeof name, "%s/%s-%016lx", state.folder.c_str(), what,
             static_cast<unsigned long>(fingerprint(state.data, state.size)));
  const int fd = ::open(name, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
  const bool written = fd >= 0 && ::write(fd, state.data, state.size) == static_cast<ssize_t>(state.size);
  if (fd >= 0) ::close(fd);
  ::fprintf(stderr, "\n%s: an input of %zu bytes %s %s\nreplay it: %s %s\n", what, state.size,
            written ? "was saved as" : "could not be saved as", name, state.program.c_str(), name);
  ::fflush(stderr);
}

[[noreturn]] void fail(const char* what, const char* detail) {
  ::fprintf(stderr, "\n%s: %s\n", what, detail);
  if (__sanitizer_print_stack_trace) __sanitizer_print_stack_trace();
  save_input(what);
  ::_exit(1);
}

void on_death() {
  save_input("crash");
}

void on_fatal(int signal) {
  if (__sanitizer_print_stack_trace) __sanitizer_print_stack_trace();
  save_input("crash");
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

/// Once a second of wall time: CPU time is the bound, a minute of waiting is a hang too.
void on_tick(int) {
  if (!state.running) {
    state.wall_ticks = 0;
    return;
  }
  if (++state.wall_ticks > 60 || cpu_now() - state.began_cpu > state.bounds.cpu_ns)
    fail("hang", "one input took longer than its bound");
}

void on_malloc(const volatile void*, std::size_t size) {
  const std::uint64_t live = state.live.fetch_add(size, std::memory_order_relaxed) + size;
  if (live > state.peak.load(std::memory_order_relaxed)) state.peak.store(live, std::memory_order_relaxed);
  const std::uint64_t start = state.start.load(std::memory_order_relaxed);
  if (live > start && live - start > state.most.load(std::memory_order_relaxed)) {
    state.most = UINT64_MAX;
    char detail[160];
    ::snprintf(detail, sizeof detail, "%lu bytes of heap for an input of %zu bytes, the last piece %zu bytes",
               static_cast<unsigned long>(live - start), state.size, size);
    fail("memory", detail);
  }
}

void on_free(const volatile void* pointer) {
  if (pointer) state.live.fetch_sub(__sanitizer_get_allocated_size(pointer), std::memory_order_relaxed);
}

// One bit for each pair of code places that followed one another; collisions only lose feedback.
constexpr std::size_t kEdges = 1 << 18;
bool seen[kEdges];
std::uint64_t fresh = 0, total = 0;
thread_local std::uintptr_t previous = 0;

}  // namespace

void install_guard(const std::string& program, const std::string& folder, const Bounds& bounds) {
  state.program = program;
  state.folder = folder;
  state.bounds = bounds;
  ::pthread_getcpuclockid(::pthread_self(), &state.clock);
  if (memory_is_bounded()) __sanitizer_install_malloc_and_free_hooks(&on_malloc, &on_free);
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(&on_death);
  struct sigaction action{};
  action.sa_handler = &on_fatal;
  ::sigaction(SIGABRT, &action, nullptr);
  if (!__sanitizer_set_death_callback)  // otherwise the sanitizer takes these
    for (const int signal : {SIGILL, SIGSEGV, SIGBUS, SIGFPE}) ::sigaction(signal, &action, nullptr);
  action.sa_handler = &on_tick;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGALRM, &action, nullptr);
  const itimerval second{{1, 0}, {1, 0}};
  ::setitimer(ITIMER_REAL, &second, nullptr);
}

void bound_memory() {
  state.bounded = memory_is_bounded();
  used = {};
}

void execute(const std::uint8_t* bytes, std::size_t size) {
  // A block of exactly this size, so that a byte read behind the end is seen.
  const std::unique_ptr<std::uint8_t[]> copy(new std::uint8_t[size]);
  std::copy(bytes, bytes + size, copy.get());
  const std::uint8_t* data = copy.get();
  state.data = data;
  state.size = size;
  state.wall_ticks = 0;
  state.start = state.live.load();
  state.peak = state.live.load();
  state.began_cpu = cpu_now();
  if (state.bounded) state.most = state.bounds.memory_base + state.bounds.memory_per_byte * size;
  previous = 0;
  state.running = true;
  LLVMFuzzerTestOneInput(data, size);
  state.running = false;
  state.most = UINT64_MAX;
  used.slowest_ns = std::max(used.slowest_ns, cpu_now() - state.began_cpu);
  if (const std::uint64_t peak = state.peak - state.start; peak > used.peak_bytes) {
    used.peak_bytes = peak;
    used.peak_input = size;
  }
}

const Usage& usage() {
  return used;
}

bool memory_is_bounded() {
  return __sanitizer_install_malloc_and_free_hooks != nullptr;
}

std::uint64_t take_new_edges() {
  const std::uint64_t out = fresh;
  total += fresh;
  fresh = 0;
  return out;
}

std::uint64_t all_edges() {
  return total + fresh;
}

}  // namespace calkit::fuzz

extern "C" char __executable_start;  // addresses are taken relative to it, so that a seed gives the same run again

extern "C" void __sanitizer_cov_trace_pc() {
  using namespace calkit::fuzz;
  const std::uintptr_t place = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) -
                               reinterpret_cast<std::uintptr_t>(&__executable_start);
  bool& known = seen[(place ^ (previous * 0x9e3779b1u)) % kEdges];
  previous = place;
  if (!known) {
    known = true;
    ++fresh;
  }
}
