#pragma once
/// Reading files that may be hostile, and writing files so that nothing half-written is ever seen under its final name.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/base/result.h"

namespace calkit {

/// Reads a whole regular file. kInput: missing, not a regular file, larger than max_bytes. Never blocks on a FIFO.
Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t max_bytes = 256ull << 20);

/// The bytes of a file, read-only: a mapping of its own, a part of another mapping, or memory. They live as long as the
/// object (shared_ptr it).
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);
  /// The bytes at [offset, offset + length) of `whole`, where they must lie; the part keeps the whole alive.
  static std::shared_ptr<const MappedFile> part_of(std::shared_ptr<const MappedFile> whole, std::uint64_t offset,
                                                   std::uint64_t length);
  static std::shared_ptr<const MappedFile> in_memory(std::shared_ptr<const std::string> bytes);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::uint64_t size() const { return size_; }
  /// Tells the kernel that these pages are not needed for now; they come back from the file when touched. Bytes in
  /// memory stay.
  void release(std::uint64_t offset, std::uint64_t length) const;

 private:
  friend class Root;
  static Result<std::shared_ptr<const MappedFile>> from_fd(int fd, const std::string& name);
  MappedFile() = default;
  const std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
  std::shared_ptr<const MappedFile> whole_;  ///< what this is a part of
  std::uint64_t whole_offset_ = 0;
  std::shared_ptr<const std::string> memory_;
};

/// A folder that nothing opened through it can leave: openat2(RESOLVE_BENEATH|NO_SYMLINKS|NO_MAGICLINKS), or a walk
/// with O_NOFOLLOW where the kernel lacks it. Every relative path that came from a file is opened through a Root.
class Root {
 public:
  static Result<Root> open(const std::filesystem::path& dir);
  ~Root();
  Root(Root&&) noexcept;
  Root& operator=(Root&&) noexcept;

  const std::filesystem::path& path() const { return path_; }
  /// kInput names the path and why: absolute, `..`, backslash, NUL, a symlink, not regular, missing.
  Result<std::string> read(std::string_view relative, std::uint64_t max_bytes = 256ull << 20) const;
  Result<std::shared_ptr<const MappedFile>> map(std::string_view relative) const;
  struct FileInfo {
    std::uint64_t bytes = 0;
    std::uint64_t links = 1;
  };
  Result<FileInfo> stat(std::string_view relative) const;
  using ChunkSink = std::function<Status(std::span<const std::byte>)>;
  /// Hands the file over in pieces of at most 1 MiB; kInput when it changed meanwhile.
  Status read_chunks(std::string_view relative, const ChunkSink& sink) const;
  /// A descriptor of the file, for reading; the caller closes it.
  Result<int> open_fd(std::string_view relative) const;

 private:
  Root() = default;
  int fd_ = -1;
  std::filesystem::path path_;
};

/// Empty if `relative` is a plain relative path that stays inside its folder; else the reason it is not.
std::string unsafe_path_reason(std::string_view relative);

/// Relative paths of all regular files under `dir`, sorted by bytes. Symlinks and special files are an error that names
/// them.
Result<std::vector<std::string>> list_tree(const std::filesystem::path& dir);

/// Writes a file: temporary sibling, fsync, rename. On error or interrupt the old file is untouched.
Status write_file(const std::filesystem::path& path, std::string_view content);

/// A folder that is built under a temporary sibling name and appears under `target` by one rename.
/// Destroyed without commit(), it removes the temporary. Temporaries of killed runs are removed by the next create().
class StagedDir {
 public:
  /// @param target final name; its parent is made if missing. An existing target is replaced atomically at commit().
  ///        kInput if target exists and is no folder.
  static Result<StagedDir> create(const std::filesystem::path& target);
  ~StagedDir();
  StagedDir(StagedDir&&) noexcept;
  StagedDir& operator=(StagedDir&&) noexcept;

  const std::filesystem::path& path() const;  ///< where to write
  /// fsyncs all files and folders, then renames. kInterrupted if a signal came before.
  Status commit();

 private:
  struct State;
  explicit StagedDir(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The same for one large file that is written piece by piece.
class StagedFile {
 public:
  static Result<StagedFile> create(const std::filesystem::path& target);
  ~StagedFile();
  StagedFile(StagedFile&&) noexcept;
  StagedFile& operator=(StagedFile&&) noexcept;

  const std::filesystem::path& path() const;  ///< the temporary name
  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text);
  std::uint64_t size() const;  ///< bytes written so far
  Status commit();

 private:
  struct State;
  explicit StagedFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace calkit
