#include "calkit/base/process.h"

#include <dirent.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>
#include <string_view>

#include "build_info.h"
#include "calkit/base/files.h"
#include "calkit/base/text.h"

namespace calkit {
namespace {

/// The value behind "NAME:" in a text of such lines, without blanks around it; empty if absent.
std::string field(std::string_view text, std::string_view name) {
  for (const std::string& line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t name_end = line.find_last_not_of(" \t", colon == 0 ? 0 : colon - 1);
    if (line.substr(0, name_end + 1) != name) continue;
    const std::size_t from = line.find_first_not_of(" \t", colon + 1);
    return from == std::string::npos ? std::string{} : line.substr(from);
  }
  return {};
}

/// "1234 kB" of /proc: its kB are 1024 bytes.
std::optional<std::uint64_t> proc_bytes(std::string_view value) {
  const auto number = parse_decimal_u64(value.substr(0, value.find(' ')));
  if (!number) return std::nullopt;
  return *number * 1024;
}

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};
using Dir = std::unique_ptr<DIR, CloseDir>;

/// Calls `each` with every numeric name in the folder; false when it cannot be opened.
template <class Each>
bool for_each_number(const char* folder, const Each& each) {
  const Dir dir(::opendir(folder));
  if (!dir) return false;
  while (const dirent* entry = ::readdir(dir.get())) {
    if (const auto number = parse_decimal_u64(entry->d_name)) each(*number, ::dirfd(dir.get()));
  }
  return true;
}

std::uint32_t count_children() {
  std::uint32_t count = 0;
  const std::string own = std::to_string(::getpid());
  for_each_number("/proc", [&](std::uint64_t pid, int) {
    // A process may end between the listing and the reading; then it is no child.
    const auto status = read_file(fmt::format("/proc/{}/status", pid), 1 << 20);
    if (status.ok() && field(*status, "PPid") == own) ++count;
  });
  return count;
}

}  // namespace

HostFacts host_facts() {
  HostFacts facts;
  facts.cpu = "unknown";
  if (const auto text = read_file("/proc/cpuinfo"); text.ok()) {
    if (std::string name = field(*text, "model name"); !name.empty()) facts.cpu = std::move(name);
  }
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (::sched_getaffinity(0, sizeof usable, &usable) == 0) facts.cores = static_cast<std::uint32_t>(CPU_COUNT(&usable));
  if (const auto text = read_file("/proc/meminfo"); text.ok())
    facts.memory_bytes = proc_bytes(field(*text, "MemTotal")).value_or(0);
  utsname names = {};
  if (::uname(&names) == 0) facts.kernel = names.release;
  return facts;
}

Result<ProcessUsage> process_usage() {
  CALKIT_TRY(const std::string status, read_file("/proc/self/status"));
  CALKIT_TRY(const std::string rollup, read_file("/proc/self/smaps_rollup"));
  const auto rss = proc_bytes(field(status, "VmRSS"));
  const auto anonymous = proc_bytes(field(rollup, "Anonymous"));
  const auto threads = parse_decimal_u64(field(status, "Threads"));
  if (!rss || !anonymous || !threads)
    return Error{ErrorKind::kIncomplete, "/proc/self: VmRSS, Anonymous or Threads is missing",
                 "calkit measures Linux processes"};
  ProcessUsage usage;
  usage.rss_bytes = *rss;
  usage.anon_bytes = *anonymous;
  usage.threads = static_cast<std::uint32_t>(*threads);
  const struct mallinfo2 heap = ::mallinfo2();
  usage.heap_bytes = heap.uordblks + heap.hblkhd;
  const bool counted = for_each_number("/proc/self/fd", [&](std::uint64_t fd, int counting) {
    if (fd != static_cast<std::uint64_t>(counting)) ++usage.fds;
  });
  if (!counted) return Error{ErrorKind::kIncomplete, "/proc/self/fd cannot be listed"};
  usage.children = count_children();
  return usage;
}

std::uint64_t peak_rss_bytes() {
  rusage usage = {};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

std::string utc_now() {
  std::time_t now = std::time(nullptr);
  if (const char* pinned = std::getenv("SOURCE_DATE_EPOCH")) {
    if (const auto seconds = parse_decimal_u64(pinned)) now = static_cast<std::time_t>(*seconds);
  }
  std::tm parts = {};
  if (!::gmtime_r(&now, &parts)) return "unknown";
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string calkit_version() {
  return CALKIT_VERSION;
}
std::string calkit_commit() {
  return CALKIT_COMMIT;
}

}  // namespace calkit
