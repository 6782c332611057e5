#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <memory>
#include <set>

#include "calkit/base/archive.h"
#include "calkit/base/checked.h"
#include "calkit/base/files.h"
#include "calkit/base/process.h"
#include "calkit/base/value.h"
#include "fd.h"

namespace calkit {
namespace {

struct FreeReader {
  void operator()(archive* a) const { archive_read_free(a); }
};

/// libarchive gives no path when it cannot spell it in the locale; the UTF-8 form is then the right one.
std::string path_of(archive_entry* entry) {
  const char* path = archive_entry_pathname(entry);
  if (!path) path = archive_entry_pathname_utf8(entry);
  return path ? path : "";
}

class TarReader {
 public:
  TarReader(const std::filesystem::path& path, const ArchiveLimits& limits)
      : name_(path.string()), limits_(limits), reader_(archive_read_new()) {}

  Status open(int fd, std::uint64_t packed_bytes) {
    packed_bytes_ = packed_bytes;
    constexpr std::size_t kBlock = 1 << 16;
    if (!reader_ || archive_read_support_format_tar(reader_.get()) != ARCHIVE_OK ||
        archive_read_support_filter_zstd(reader_.get()) != ARCHIVE_OK ||
        // Not to stop at the end of the first archive: what is appended after it must not go unseen.
        archive_read_set_format_option(reader_.get(), "tar", "read_concatenated_archives", "1") != ARCHIVE_OK ||
        archive_read_open_fd(reader_.get(), fd, kBlock) != ARCHIVE_OK) {
      return damaged();
    }
    return {};
  }

  /// The next regular file, or nullptr at the end. Folders are passed over; anything else is refused.
  Result<archive_entry*> next() {
    for (;;) {
      if (interrupted()) return interrupted_error();
      archive_entry* entry = nullptr;
      const int state = archive_read_next_header(reader_.get(), &entry);
      if (state == ARCHIVE_EOF) return nullptr;
      if (state != ARCHIVE_OK) return damaged();
      CALKIT_CHECK_OK(check(entry));
      if (archive_entry_filetype(entry) == AE_IFREG) return entry;
    }
  }

  Result<std::size_t> read(std::span<std::byte> buffer) {
    const la_ssize_t got = archive_read_data(reader_.get(), buffer.data(), buffer.size());
    if (got < 0) return damaged();
    return static_cast<std::size_t>(got);
  }

  Error damaged() const {
    const char* text = reader_ ? archive_error_string(reader_.get()) : nullptr;
    return input_error(name_, {}, fmt::format("a damaged archive ({})", text ? text : "unknown reason"),
                       "a .tar.zst file");
  }

 private:
  Status check(archive_entry* entry) {
    std::string path = path_of(entry);
    const auto refused = [&](std::string_view found, std::string_view allowed) {
      return input_error(name_, Value(path).describe(), found, allowed);
    };
    if (++entries_ > limits_.max_entries)
      return refused("one entry too many", fmt::format("at most {} entries", limits_.max_entries));
    const auto type = archive_entry_filetype(entry);
    if (archive_entry_hardlink(entry) || archive_entry_symlink(entry) || (type != AE_IFREG && type != AE_IFDIR))
      return refused("a link or a special file", "regular files and folders");
    if (type == AE_IFDIR && path.size() > 1 && path.back() == '/') path.pop_back();
    if (const std::string reason = unsafe_path_reason(path); !reason.empty())
      return refused("a path that is not safe: " + reason, "a plain relative path");
    if (!seen_.insert(path).second) return refused("a path given twice", "each path once");
    if (!archive_entry_size_is_set(entry) || archive_entry_size(entry) < 0) return refused("no size", "a size");
    return check_size(static_cast<std::uint64_t>(archive_entry_size(entry)), refused);
  }

  /// Sizes are summed as stated, before a byte is unpacked: a bomb is refused from its headers.
  template <class Refused>
  Status check_size(std::uint64_t bytes, const Refused& refused) {
    const auto total = checked_add(total_bytes_, bytes);
    if (!total || *total > limits_.max_bytes)
      return refused(fmt::format("{} bytes more", bytes), fmt::format("at most {} bytes in all", limits_.max_bytes));
    total_bytes_ = *total;
    const auto most = checked_mul(packed_bytes_, limits_.max_ratio);
    if (most && total_bytes_ > *most)
      return refused(fmt::format("{} bytes unpacked from {}", total_bytes_, packed_bytes_),
                     fmt::format("at most {} times the packed size", limits_.max_ratio));
    return {};
  }

  std::string name_;
  ArchiveLimits limits_;
  std::unique_ptr<archive, FreeReader> reader_;
  std::uint64_t packed_bytes_ = 0;
  std::uint64_t entries_ = 0;
  std::uint64_t total_bytes_ = 0;
  std::set<std::string> seen_;
};

}  // namespace

Status read_tar_zst(
    const std::filesystem::path& archive,
    const std::function<Status(const std::string& path, std::uint64_t bytes, const EntryReader&)>& entry,
    const ArchiveLimits& limits) {
  CALKIT_TRY(const Fd fd, open_regular(archive));
  CALKIT_TRY(const std::uint64_t packed, regular_size(fd.get(), archive.string()));
  TarReader reader(archive, limits);
  CALKIT_CHECK_OK(reader.open(fd.get(), packed));
  for (;;) {
    CALKIT_TRY(archive_entry* const found, reader.next());
    if (!found) return {};
    const std::string path = path_of(found);
    const auto bytes = static_cast<std::uint64_t>(archive_entry_size(found));
    CALKIT_CHECK_OK(entry(path, bytes, [&reader](std::span<std::byte> buffer) { return reader.read(buffer); }));
  }
}

}  // namespace calkit
