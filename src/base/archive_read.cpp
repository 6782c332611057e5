#include <set>

#include "calkit/base/archive.h"
#include "calkit/base/files.h"
#include "calkit/base/value.h"
#include "fd.h"
#include "tar_stream.h"

namespace calkit {

Status read_tar_zst(
    const std::filesystem::path& archive,
    const std::function<Status(const std::string& path, std::uint64_t bytes, const EntryReader&)>& entry,
    const ArchiveLimits& limits) {
  CALKIT_TRY(const Fd fd, open_regular(archive));
  CALKIT_TRY(const std::uint64_t packed, regular_size(fd.get(), archive.string()));
  TarStream stream(archive.string(), limits);
  CALKIT_CHECK_OK(stream.open_packed(fd.get(), packed));
  std::set<std::string> seen;
  for (;;) {
    CALKIT_TRY(const auto member, stream.next());
    if (!member) return {};
    const auto refused = [&](std::string_view found, std::string_view allowed) {
      return input_error(archive.string(), Value(member->path).describe(), found, allowed);
    };
    if (member->kind != EntryKind::kFile && member->kind != EntryKind::kFolder)
      return refused("a link or a special file", "regular files and folders");
    if (const std::string reason = unsafe_path_reason(member->path); !reason.empty())
      return refused("a path that is not safe: " + reason, "a plain relative path");
    if (!seen.insert(member->path).second) return refused("a path given twice", "each path once");
    if (member->kind == EntryKind::kFolder) continue;
    CALKIT_CHECK_OK(
        entry(member->path, member->bytes, [&stream](std::span<std::byte> buffer) { return stream.read(buffer); }));
  }
}

}  // namespace calkit
