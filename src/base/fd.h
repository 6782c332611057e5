#pragma once
/// A file descriptor that closes itself, and the few reads that base builds on.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "calkit/base/result.h"

namespace calkit {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_ = -1;
};

/// "NAME: cannot WHAT: <text of errno>". Kind kInput where the path itself is at fault (missing, a folder), else kIo.
Error system_error(std::string_view name, std::string_view what, int number);

/// kInput unless the open descriptor is a regular file. Returns its size.
Result<std::uint64_t> regular_size(int fd, std::string_view name);

/// Opens a regular file for reading; a FIFO or a device is refused without waiting for it.
Result<Fd> open_regular(const std::filesystem::path& path);

using ByteSink = std::function<Status(std::span<const std::byte>)>;
/// Reads to the end in pieces of at most 1 MiB. kInput when the file changed in size or time meanwhile.
Status read_chunks(int fd, std::string_view name, const ByteSink& sink);
Result<std::string> read_whole(int fd, std::string_view name, std::uint64_t max_bytes);

}  // namespace calkit
