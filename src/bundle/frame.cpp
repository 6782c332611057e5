#include "frame.h"

#include <fmt/format.h>

#include <array>
#include <fstream>

#include "calkit/base/process.h"

namespace calkit::bundle {
namespace {

// Header fields of a zstd frame are little endian.
class FrameWalker {
 public:
  explicit FrameWalker(const std::filesystem::path& file) : name_(file.string()), in_(file, std::ios::binary) {}

  Result<std::uint64_t> run() {
    CALKIT_TRY(const std::uint32_t magic, number(4));
    if (magic != 0xFD2FB528u) return Error(ErrorKind::kInput, fmt::format("{}: is no zstd file", name_));
    CALKIT_TRY(const std::uint32_t descriptor, number(1));
    CALKIT_CHECK_OK(skip(header_bytes(descriptor)));
    for (bool last = false; !last;) {
      if (interrupted()) return interrupted_error();
      CALKIT_TRY(const std::uint32_t block, number(3));
      last = (block & 1u) != 0;
      const std::uint32_t type = block >> 1 & 3u;
      CALKIT_CHECK_OK(skip(type == kRunLength ? 1 : block >> 3));
    }
    const bool checksum = (descriptor >> 2 & 1u) != 0;
    CALKIT_CHECK_OK(skip(checksum ? 4 : 0));
    return at_;
  }

 private:
  static constexpr std::uint32_t kRunLength = 1;

  // Window descriptor, dictionary id and content size, as the descriptor's bits tell.
  static std::uint32_t header_bytes(std::uint32_t descriptor) {
    const bool single_segment = (descriptor >> 5 & 1u) != 0;
    constexpr std::array<std::uint32_t, 4> kDictionary = {0, 1, 2, 4}, kContent = {0, 2, 4, 8};
    const std::uint32_t content = descriptor >> 6;
    return (single_segment ? 0 : 1) + kDictionary[descriptor & 3u] +
           (content == 0 && single_segment ? 1 : kContent[content]);
  }

  Result<std::uint32_t> number(std::uint32_t bytes) {
    std::array<char, 4> raw{};
    in_.read(raw.data(), bytes);
    if (in_.gcount() != bytes) return cut_off();
    at_ += bytes;
    std::uint32_t value = 0;
    for (std::uint32_t i = 0; i < bytes; ++i) value |= std::uint32_t{static_cast<unsigned char>(raw[i])} << (8 * i);
    return value;
  }

  Status skip(std::uint32_t bytes) {
    in_.ignore(bytes);
    if (in_.gcount() != bytes) return cut_off();
    at_ += bytes;
    return {};
  }

  Error cut_off() const { return Error(ErrorKind::kInput, fmt::format("{}: ends inside a zstd frame", name_)); }

  std::string name_;
  std::ifstream in_;
  std::uint64_t at_ = 0;
};

}  // namespace

Result<std::uint64_t> first_frame_bytes(const std::filesystem::path& file) {
  return FrameWalker(file).run();
}

}  // namespace calkit::bundle
