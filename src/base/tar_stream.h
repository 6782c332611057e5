#pragma once
/// The members of a tar archive one after the other (libarchive), within limits. What a member is, is told; whether
/// it is wanted is the caller's.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "calkit/base/archive.h"
#include "calkit/base/tree.h"

struct archive;
struct archive_entry;

namespace calkit {

inline constexpr std::size_t kTarBlock = 512;

/// A header block whose checksum is right: ustar, pax, GNU and the form of before 1988.
bool is_tar_header(std::string_view head);
/// The begin of a zstd frame, or of one that decoders skip.
bool is_zstd_frame(std::string_view head);

class TarStream {
 public:
  struct Member {
    std::string path;  ///< as the archive has it, but for a slash at the end
    EntryKind kind = EntryKind::kFile;
    std::uint64_t bytes = 0;
    std::string what;  ///< of a link or special member
  };

  TarStream(std::string name, const ArchiveLimits& limits);
  ~TarStream();
  /// Reads from the descriptor's place on, which the caller keeps open.
  Status open_packed(int fd, std::uint64_t packed_bytes);
  /// The archive as it lies in memory, not packed.
  Status open_plain(std::span<const std::byte> bytes);

  /// The next member, nullopt at the end. kInput: a damaged archive, or one outside the limits.
  Result<std::optional<Member>> next();
  /// Bytes of this member; 0 at its end.
  Result<std::size_t> read(std::span<std::byte> buffer);
  /// Where all bytes of this member lie in the memory of open_plain(); nullopt when they do not lie in one piece
  /// (a sparse file). kInput when the archive ends before.
  Result<std::optional<std::uint64_t>> offset(const Member& member);
  std::uint64_t packed_done() const;  ///< packed bytes read so far

 private:
  Status support();
  Status check(const Member& member);
  Error damaged() const;

  struct Free {
    void operator()(archive* a) const;
  };
  std::string name_;
  ArchiveLimits limits_;
  std::unique_ptr<archive, Free> reader_;
  std::span<const std::byte> memory_;
  std::uint64_t packed_bytes_ = 0, entries_ = 0, total_bytes_ = 0;
};

}  // namespace calkit
