#pragma once
/// The files of a package wherever they lie: a folder, a .tar, a .tar.zst, or memory. Nothing is unpacked to disk.
/// An archive may hold its files at the top or inside one single folder; paths are told without that folder.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/base/archive.h"
#include "calkit/base/files.h"
#include "calkit/base/hash.h"
#include "calkit/base/result.h"

namespace calkit {

enum class EntryKind { kFile, kFolder, kLink, kSpecial };

struct TreeEntry {
  std::string path;  ///< relative, parts separated by '/'; as found: it may be unsafe (unsafe_path_reason)
  EntryKind kind = EntryKind::kFile;
  std::uint64_t bytes = 0;   ///< of a file
  std::uint64_t links = 1;   ///< names this file has on its file system
  std::uint64_t copies = 1;  ///< members of that path in the archive; the last one is what is read
  std::string what;          ///< of a link or special entry: "a FIFO"; of a folder that cannot be listed: why
};

struct TreeDigest {
  std::string sha256;          ///< 64 hex; empty when the file could not be read as a whole
  std::uint64_t bytes = 0;     ///< that were read
  std::string changed;         ///< how the file changed since the tree was opened; empty: it did not
  std::optional<Error> error;  ///< why it could not be read
};
using TreeDigests = std::map<std::string, TreeDigest, std::less<>>;

/// Bytes done so far, of all. Called from several threads, one at a time; must be quick.
using ByteProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

class FileTree {
 public:
  struct Options {
    ArchiveLimits limits;   ///< of an archive; max_entries holds for a folder too
    ByteProgress progress;  ///< a .tar.zst is read and hashed when it is opened; bytes are packed ones
  };
  /// What `path` is decides its content, never its name. kInput: nothing there, a file that is no such archive, a
  /// damaged archive, or one outside the limits.
  static Result<FileTree> open(const std::filesystem::path& path, const Options& options);
  static Result<FileTree> open(const std::filesystem::path& path) { return open(path, {}); }
  static FileTree memory(std::string name, std::map<std::string, std::string> files);

  const std::string& name() const { return name_; }                   ///< for messages: the path it was opened by
  const std::vector<TreeEntry>& entries() const { return entries_; }  ///< sorted by the bytes of their paths
  const TreeEntry* find(std::string_view path) const;                 ///< nullptr: no such entry

  /// The whole file. kInput: no such file, not a regular one, larger than max_bytes.
  Result<std::string> read(std::string_view path, std::uint64_t max_bytes = 256ull << 20) const;
  /// The bytes in place; of a .tar.zst in memory, as many as were really unpacked.
  Result<std::shared_ptr<const MappedFile>> map(std::string_view path) const;

  struct HashOptions {
    unsigned threads = 0;  ///< 0: as many as there are cores; one file is hashed by one thread
    ByteProgress progress;
  };
  /// SHA-256 of each of these files, every byte read once in bounded memory. kInterrupted on a signal; what goes wrong
  /// with one file is told in its place.
  Result<TreeDigests> hash(std::span<const std::string> paths, const HashOptions& options) const;
  Result<TreeDigests> hash_all(const HashOptions& options) const;  ///< of every regular file

  class Source;

 private:
  FileTree() = default;
  Result<const TreeEntry*> file(std::string_view path) const;

  std::string name_;
  std::vector<TreeEntry> entries_;
  std::vector<std::uint64_t> places_;  ///< where the source keeps each entry
  std::shared_ptr<const Source> source_;
};

/// hash_tree() of a tree whose files have been hashed: the same digest for a folder and for an archive of it. kInput
/// when there is a link, a special file, an unsafe path, a path given twice or a file that could not be hashed.
Result<FileDigest> tree_digest(const FileTree& tree, const TreeDigests& digests);

}  // namespace calkit
