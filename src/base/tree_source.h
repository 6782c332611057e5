#pragma once
/// Where the files of a tree come from. A tree asks for regular files only, and by the place the source gave them.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "calkit/base/process.h"
#include "calkit/base/tree.h"
#include "calkit/base/value.h"
#include "tar_stream.h"

namespace calkit {

/// Told after each piece of bytes; an error (an interrupt) ends the reading.
using Step = std::function<Status(std::uint64_t bytes)>;

class FileTree::Source {
 public:
  virtual ~Source() = default;
  virtual Result<std::string> read(const TreeEntry& entry, std::uint64_t place) const = 0;
  virtual Result<std::shared_ptr<const MappedFile>> map(const TreeEntry& entry, std::uint64_t place) const = 0;
  /// Safe to call from several threads. Only kInterrupted is an error of the whole.
  virtual TreeDigest hash(const TreeEntry& entry, std::uint64_t place, const Step& step) const = 0;
};

struct OpenTree {
  std::vector<std::pair<TreeEntry, std::uint64_t>> entries;  ///< with their places, in any order
  std::shared_ptr<const FileTree::Source> source;
};
Result<OpenTree> open_folder_tree(const std::filesystem::path& path, const ArchiveLimits& limits);
Result<OpenTree> open_tar_tree(const std::filesystem::path& path, const ArchiveLimits& limits);
Result<OpenTree> open_tar_zst_tree(const std::filesystem::path& path, const FileTree::Options& options);

/// A member as an entry of a tree.
TreeEntry tree_entry(TarStream::Member member);
/// Takes "./" off the paths, as `tar -c .` writes it, and drops the entry of "." itself.
void drop_dot(OpenTree& tree);

inline constexpr std::uint64_t kTellEvery = 4ull << 20;  ///< bytes from one word of progress to the next

/// Reads [offset, offset + length) of a descriptor into SHA-256; short when the file ends before. Reading, not mapping:
/// a file that is cut meanwhile must not end the process.
TreeDigest hash_range(int fd, std::string_view name, std::uint64_t offset, std::uint64_t length, const Step& step);

/// What tells one state of a file from another.
struct FileVersion {
  std::uint64_t device = 0, inode = 0, bytes = 0;
  std::int64_t seconds = 0, nanoseconds = 0;
};
Result<FileVersion> file_version(int fd, std::string_view name);
/// "4104 bytes became 4000", or another difference in words; empty: none.
std::string version_change(const FileVersion& before, const FileVersion& after);

}  // namespace calkit
