#include "zstd_window.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "calkit/base/text.h"

namespace calkit {
namespace {

constexpr std::uint32_t kFrame = 0xFD2FB528, kSkippable = 0x184D2A50, kSkippableMask = 0xFFFFFFF0;

/// Little-endian numbers of a file; nullopt past its end.
class Numbers {
 public:
  Numbers(int fd, std::uint64_t size) : fd_(fd), size_(size) {}
  std::optional<std::uint64_t> at(std::uint64_t offset, std::size_t count) const {
    std::array<unsigned char, 8> bytes{};
    if (offset > size_ || count > size_ - offset) return std::nullopt;
    if (::pread(fd_, bytes.data(), count, static_cast<off_t>(offset)) != static_cast<ssize_t>(count))
      return std::nullopt;
    std::uint64_t out = 0;
    for (std::size_t i = count; i-- > 0;) out = out << 8 | bytes[i];
    return out;
  }

 private:
  int fd_;
  std::uint64_t size_;
};

struct FrameHeader {
  std::uint64_t window = 0, bytes = 0;  ///< bytes: of the header, magic included
  bool checksum = false;
};

std::optional<FrameHeader> read_frame_header(const Numbers& numbers, std::uint64_t at) {
  const auto descriptor = numbers.at(at + 4, 1);
  if (!descriptor) return std::nullopt;
  const bool single = (*descriptor & 0x20) != 0;
  FrameHeader out;
  out.checksum = (*descriptor & 4) != 0;
  out.bytes = 5;
  if (!single) {
    const auto window = numbers.at(at + out.bytes, 1);
    if (!window) return std::nullopt;
    const std::uint64_t base = 1ull << (10 + (*window >> 3));
    out.window = base + base / 8 * (*window & 7);
    out.bytes += 1;
  }
  constexpr std::size_t kDictionaryBytes[] = {0, 1, 2, 4};
  constexpr std::size_t kContentBytes[] = {0, 2, 4, 8};
  out.bytes += kDictionaryBytes[*descriptor & 3];
  std::size_t content = kContentBytes[*descriptor >> 6];
  if (content == 0 && single) content = 1;
  if (single) {
    const auto size = numbers.at(at + out.bytes, content);
    if (!size) return std::nullopt;
    out.window = content == 2 ? *size + 256 : *size;
  }
  out.bytes += content;
  return out;
}

/// Behind the last block of a frame whose first block is at `at`.
std::optional<std::uint64_t> end_of_blocks(const Numbers& numbers, std::uint64_t at) {
  for (;;) {
    const auto header = numbers.at(at, 3);
    if (!header) return std::nullopt;
    const std::uint64_t type = *header >> 1 & 3;
    at += 3 + (type == 1 ? 1 : *header >> 3);  // a run of one byte holds that byte alone
    if ((*header & 1) != 0) return at;
  }
}

}  // namespace

std::uint64_t largest_zstd_window(int fd, std::uint64_t size) {
  const Numbers numbers(fd, size);
  std::uint64_t largest = 0;
  for (std::uint64_t at = 0;;) {
    const auto magic = numbers.at(at, 4);
    if (!magic) return largest;
    if ((*magic & kSkippableMask) == kSkippable) {
      const auto length = numbers.at(at + 4, 4);
      if (!length) return largest;
      at += 8 + *length;
      continue;
    }
    const auto header = *magic == kFrame ? read_frame_header(numbers, at) : std::nullopt;
    if (!header) return largest;
    largest = std::max(largest, header->window);
    const auto end = end_of_blocks(numbers, at + header->bytes);
    if (!end) return largest;
    at = *end + (header->checksum ? 4 : 0);
  }
}

Status check_zstd_window(int fd, std::uint64_t size, const std::string& name) {
  constexpr std::uint64_t kBase = 8ull << 20, kPerByte = 64;
  const std::uint64_t window = largest_zstd_window(fd, size);
  if (window <= kBase || (window - kBase) / kPerByte <= size) return {};
  return input_error(name, {}, fmt::format("a zstd window of {} for {} packed bytes", format_bytes(window), size),
                     fmt::format("at most {} + {} times the packed bytes", format_bytes(kBase), kPerByte),
                     "pack it again without --ultra and --long");
}

}  // namespace calkit
