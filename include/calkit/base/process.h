#pragma once
/// Facts of this process and this host, signals, and deadlines.
#include <chrono>
#include <cstdint>
#include <string>

#include "calkit/base/result.h"

namespace calkit {

struct HostFacts {
  std::string cpu;          ///< model name, or "unknown"
  std::uint32_t cores = 0;  ///< usable by this process
  std::uint64_t memory_bytes = 0;
  std::string kernel;  ///< uname release
};
HostFacts host_facts();

/// What this process holds now. Bytes; counts of open descriptors, threads and direct children.
struct ProcessUsage {
  std::uint64_t rss_bytes = 0;
  std::uint64_t anon_bytes = 0;  ///< of these, not backed by a file: no other process can change it, as it can PSS
  std::uint64_t heap_bytes = 0;  ///< mallinfo2: in use, mapped blocks included
  std::uint32_t fds = 0;
  std::uint32_t threads = 0;
  std::uint32_t children = 0;
};
Result<ProcessUsage> process_usage();
std::uint64_t peak_rss_bytes();

/// Installs SIGINT/SIGTERM handlers that set a flag; long loops ask interrupted() and return interrupted_error().
void install_interrupt_handlers();
bool interrupted();
Error interrupted_error();

/// "2026-01-31T12:00:00Z" of now; SOURCE_DATE_EPOCH, when set, replaces the clock.
std::string utc_now();

/// calkit's version and the git commit it was built from ("unknown" outside a checkout).
std::string calkit_version();
std::string calkit_commit();

/// A point on the steady clock before which something must have happened.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;
  static Deadline in(std::chrono::nanoseconds span) { return Deadline(Clock::now() + span); }
  bool passed() const { return Clock::now() >= at_; }
  std::chrono::nanoseconds left() const { return at_ - Clock::now(); }  ///< may be negative
  Clock::time_point at() const { return at_; }

 private:
  explicit Deadline(Clock::time_point at) : at_(at) {}
  Clock::time_point at_;
};

}  // namespace calkit
