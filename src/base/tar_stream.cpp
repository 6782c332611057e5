#include "tar_stream.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include "calkit/base/checked.h"
#include "calkit/base/process.h"
#include "calkit/base/value.h"
#include "zstd_window.h"

namespace calkit {
namespace {

constexpr const char* kCopyAgain = "the archive is damaged; copy it again, or pack it again";

/// libarchive gives no path when it cannot spell it in the locale; the UTF-8 form is then the right one.
std::string path_of(archive_entry* entry) {
  const char* path = archive_entry_pathname(entry);
  if (!path) path = archive_entry_pathname_utf8(entry);
  std::string text = path ? path : "";
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

void tell_kind(archive_entry* entry, TarStream::Member& member) {
  const auto special = [&](EntryKind kind, const char* what) {
    member.kind = kind;
    member.what = what;
  };
  if (archive_entry_hardlink(entry) || archive_entry_hardlink_utf8(entry))
    return special(EntryKind::kSpecial, "a hard link to another member");
  switch (archive_entry_filetype(entry)) {
    case AE_IFREG:
      return;
    case AE_IFDIR:
      member.kind = EntryKind::kFolder;
      return;
    case AE_IFLNK:
      return special(EntryKind::kLink, "a symbolic link");
    case AE_IFIFO:
      return special(EntryKind::kSpecial, "a FIFO");
    case AE_IFSOCK:
      return special(EntryKind::kSpecial, "a socket");
    default:
      return special(EntryKind::kSpecial, "a device");
  }
}

/// An octal field, with blanks around it; nullopt when it is none.
std::optional<std::uint64_t> octal(std::string_view field) {
  while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
  std::uint64_t value = 0;
  std::size_t digits = 0;
  for (; digits < field.size() && field[digits] >= '0' && field[digits] <= '7'; ++digits)
    value = value * 8 + static_cast<std::uint64_t>(field[digits] - '0');
  return digits > 0 ? std::optional(value) : std::nullopt;
}

}  // namespace

bool is_tar_header(std::string_view head) {
  constexpr std::size_t kSumAt = 148, kSumLength = 8;
  if (head.size() < kTarBlock) return false;
  const auto stated = octal(head.substr(kSumAt, kSumLength));
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kTarBlock; ++i) {
    const bool in_sum = i >= kSumAt && i < kSumAt + kSumLength;
    sum += in_sum ? ' ' : static_cast<unsigned char>(head[i]);
  }
  return stated && *stated == sum;
}

bool is_zstd_frame(std::string_view head) {
  if (head.size() < 4) return false;
  const bool skipped = (static_cast<unsigned char>(head[0]) & 0xF0) == 0x50 && head.substr(1, 3) == "\x2a\x4d\x18";
  return skipped || head.starts_with("\x28\xb5\x2f\xfd");
}

void TarStream::Free::operator()(archive* a) const {
  archive_read_free(a);
}
TarStream::TarStream(std::string name, const ArchiveLimits& limits)
    : name_(std::move(name)), limits_(limits), reader_(archive_read_new()) {}
TarStream::~TarStream() = default;

Status TarStream::support() {
  if (!reader_ || archive_read_support_format_tar(reader_.get()) != ARCHIVE_OK ||
      // Not to stop at the end of the first archive: what is appended after it must not go unseen.
      archive_read_set_format_option(reader_.get(), "tar", "read_concatenated_archives", "1") != ARCHIVE_OK)
    return damaged();
  return {};
}

Status TarStream::open_packed(int fd, std::uint64_t packed_bytes) {
  constexpr std::size_t kBlock = 1 << 16;
  packed_bytes_ = packed_bytes;
  CALKIT_CHECK_OK(check_zstd_window(fd, packed_bytes, name_));
  CALKIT_CHECK_OK(support());
  if (archive_read_support_filter_zstd(reader_.get()) != ARCHIVE_OK ||
      archive_read_open_fd(reader_.get(), fd, kBlock) != ARCHIVE_OK)
    return damaged();
  return {};
}

Status TarStream::open_plain(std::span<const std::byte> bytes) {
  packed_bytes_ = bytes.size();
  memory_ = bytes;
  CALKIT_CHECK_OK(support());
  if (archive_read_open_memory(reader_.get(), bytes.data(), bytes.size()) != ARCHIVE_OK) return damaged();
  return {};
}

Result<std::optional<TarStream::Member>> TarStream::next() {
  if (interrupted()) return interrupted_error();
  archive_entry* entry = nullptr;
  const int state = archive_read_next_header(reader_.get(), &entry);
  if (state == ARCHIVE_EOF) return std::optional<Member>();
  // A warning is libarchive's word for a path it cannot spell in the locale.
  if (state != ARCHIVE_OK && state != ARCHIVE_WARN) return damaged();
  Member member;
  member.path = path_of(entry);
  tell_kind(entry, member);
  const bool sized = archive_entry_size_is_set(entry) != 0;
  if (archive_entry_size(entry) < 0 || (member.kind == EntryKind::kFile && !sized))
    return input_error(name_, Value(member.path).describe(), "no size", "a size", kCopyAgain);
  if (sized) member.bytes = static_cast<std::uint64_t>(archive_entry_size(entry));
  CALKIT_CHECK_OK(check(member));
  return std::optional(std::move(member));
}

/// Sizes are summed as stated, before a byte is unpacked: a bomb is refused from its headers.
Status TarStream::check(const Member& member) {
  const auto refused = [&](std::string_view found, std::string_view allowed) {
    return input_error(name_, Value(member.path).describe(), found, allowed,
                       "more than is unpacked here; pack the archive again from its own folder alone");
  };
  if (++entries_ > limits_.max_entries)
    return refused("one entry too many", fmt::format("at most {} entries", limits_.max_entries));
  const auto total = checked_add(total_bytes_, member.bytes);
  if (!total || *total > limits_.max_bytes)
    return refused(fmt::format("{} bytes more", member.bytes),
                   fmt::format("at most {} bytes in all", limits_.max_bytes));
  total_bytes_ = *total;
  const auto most = checked_mul(packed_bytes_, limits_.max_ratio);
  if (most && total_bytes_ > *most)
    return refused(fmt::format("{} bytes unpacked from {}", total_bytes_, packed_bytes_),
                   fmt::format("at most {} times the packed size", limits_.max_ratio));
  return {};
}

Result<std::size_t> TarStream::read(std::span<std::byte> buffer) {
  const la_ssize_t got = archive_read_data(reader_.get(), buffer.data(), buffer.size());
  if (got < 0) return damaged();
  return static_cast<std::size_t>(got);
}

Result<std::optional<std::uint64_t>> TarStream::offset(const Member& member) {
  if (member.bytes == 0) return std::optional<std::uint64_t>(0);
  const void* data = nullptr;
  std::size_t size = 0;
  la_int64_t at = 0;
  if (archive_read_data_block(reader_.get(), &data, &size, &at) != ARCHIVE_OK) return damaged();
  // libarchive hands out the memory it was given, as far as the member goes in one piece.
  const auto* const bytes = static_cast<const std::byte*>(data);
  const bool inside =
      std::less_equal<>()(memory_.data(), bytes) && std::less_equal<>()(bytes + size, memory_.data() + memory_.size());
  if (!inside || at != 0) return std::optional<std::uint64_t>();
  const auto offset = static_cast<std::uint64_t>(bytes - memory_.data());
  if (size < member.bytes && offset + size == memory_.size())
    return input_error(name_, Value(member.path).describe(), fmt::format("{} of its {} bytes", size, member.bytes),
                       "a whole archive", "the copy was cut short; copy the archive again");
  return size == member.bytes ? std::optional(offset) : std::nullopt;
}

std::uint64_t TarStream::packed_done() const {
  return static_cast<std::uint64_t>(std::max<la_int64_t>(archive_filter_bytes(reader_.get(), -1), 0));
}

Error TarStream::damaged() const {
  const char* text = reader_ ? archive_error_string(reader_.get()) : nullptr;
  return input_error(name_, {}, fmt::format("a damaged archive ({})", text ? text : "unknown reason"),
                     memory_.data() != nullptr ? "a .tar file" : "a .tar.zst file", kCopyAgain);
}

}  // namespace calkit
