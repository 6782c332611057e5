#pragma once
/// Deterministic .tar.zst of a folder, and a bounded reader of one (libarchive).
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "calkit/base/result.h"

namespace calkit {

/// Writes `files` (relative to `dir`) as ustar/pax in zstd: sorted by bytes, mtime 0, uid/gid 0, mode 0644, no names of
/// users, fixed compression level, one thread: equal content gives equal bytes on every machine with the same library.
/// Written to a temporary name and renamed.
Status write_tar_zst(const std::filesystem::path& out, const std::filesystem::path& dir,
                     std::vector<std::string> files);

struct ArchiveLimits {
  std::uint64_t max_entries = 100000;
  std::uint64_t max_bytes = 1ull << 40;
  std::uint64_t max_ratio = 1000;  ///< unpacked bytes per packed byte
};
/// Calls `entry(path, reader)` for each regular file in archive order; anything but a regular file or folder, an unsafe
/// or a repeated path is kInput. `reader(buffer)` fills a span and returns the count, 0 at the end.
using EntryReader = std::function<Result<std::size_t>(std::span<std::byte>)>;
Status read_tar_zst(
    const std::filesystem::path& archive,
    const std::function<Status(const std::string& path, std::uint64_t bytes, const EntryReader&)>& entry,
    const ArchiveLimits& limits = {});

}  // namespace calkit
