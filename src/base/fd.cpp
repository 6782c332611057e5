#include "fd.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

#include "calkit/base/process.h"

namespace calkit {

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Error system_error(std::string_view name, std::string_view what, int number) {
  const bool path_at_fault = number == ENOENT || number == ENOTDIR || number == EISDIR || number == ELOOP ||
                             number == ENAMETOOLONG || number == ENXIO;
  return Error{path_at_fault ? ErrorKind::kInput : ErrorKind::kIo,
               fmt::format("{}: cannot {}: {}", name, what, std::generic_category().message(number))};
}

Result<std::uint64_t> regular_size(int fd, std::string_view name) {
  struct stat facts = {};
  if (::fstat(fd, &facts) != 0) return system_error(name, "stat", errno);
  if (S_ISREG(facts.st_mode)) return static_cast<std::uint64_t>(facts.st_size);
  const char* found = S_ISDIR(facts.st_mode)    ? "a folder"
                      : S_ISFIFO(facts.st_mode) ? "a FIFO"
                      : S_ISSOCK(facts.st_mode) ? "a socket"
                                                : "a device";
  return input_error(name, {}, found, "a regular file");
}

Result<Fd> open_regular(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a FIFO that nobody writes would wait for ever.
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.open()) return system_error(path.string(), "open", errno);
  CALKIT_TRY(const std::uint64_t size, regular_size(fd.get(), path.string()));
  static_cast<void>(size);
  return fd;
}

namespace {
struct Version {
  std::int64_t size = 0, seconds = 0, nanoseconds = 0;
  bool operator==(const Version&) const = default;
};
Result<Version> version_of(int fd, std::string_view name) {
  struct stat facts = {};
  if (::fstat(fd, &facts) != 0) return system_error(name, "stat", errno);
  return Version{facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
}
}  // namespace

Status read_chunks(int fd, std::string_view name, const ByteSink& sink) {
  constexpr std::int64_t kLeastChunk = 4096;  // files of /proc state no size
  constexpr std::int64_t kChunk = 1 << 20;
  CALKIT_TRY(const Version before, version_of(fd, name));
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::clamp(before.size, kLeastChunk, kChunk)));
  for (;;) {
    if (interrupted()) return interrupted_error();
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(name, "read", errno);
    if (got == 0) break;
    CALKIT_CHECK_OK(sink(std::span(buffer).first(static_cast<std::size_t>(got))));
  }
  CALKIT_TRY(const Version after, version_of(fd, name));
  if (!(before == after)) return input_error(name, {}, "a file that changed while it was read", "a file at rest");
  return {};
}

Result<std::string> read_whole(int fd, std::string_view name, std::uint64_t max_bytes) {
  CALKIT_TRY(const std::uint64_t size, regular_size(fd, name));
  const auto too_large = [&](std::uint64_t found) {
    return input_error(name, {}, fmt::format("{} bytes", found), fmt::format("at most {} bytes", max_bytes));
  };
  if (size > max_bytes) return too_large(size);
  std::string text;
  text.reserve(static_cast<std::size_t>(size));
  CALKIT_CHECK_OK(read_chunks(fd, name, [&](std::span<const std::byte> bytes) -> Status {
    if (bytes.size() > max_bytes - text.size()) return too_large(text.size() + bytes.size());
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }));
  return text;
}

}  // namespace calkit
