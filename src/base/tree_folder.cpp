/// A tree in a folder. Names are listed without following a link; files are opened through Root alone, and nothing but
/// a regular file is ever opened.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "calkit/base/process.h"
#include "fd.h"
#include "tree_source.h"

namespace calkit {
namespace {

constexpr int kMostDepth = 64;
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;

FileVersion version_of(const struct stat& facts) {
  return {facts.st_dev, facts.st_ino, static_cast<std::uint64_t>(facts.st_size), facts.st_mtim.tv_sec,
          facts.st_mtim.tv_nsec};
}

const char* special_name(mode_t mode) {
  if (S_ISFIFO(mode)) return "a FIFO";
  return S_ISSOCK(mode) ? "a socket" : "a device";
}

class FolderSource final : public FileTree::Source {
 public:
  FolderSource(Root root, std::vector<FileVersion> versions) : root_(std::move(root)), versions_(std::move(versions)) {}

  Result<std::string> read(const TreeEntry& entry, std::uint64_t) const override {
    return root_.read(entry.path, entry.bytes);
  }
  Result<std::shared_ptr<const MappedFile>> map(const TreeEntry& entry, std::uint64_t) const override {
    return root_.map(entry.path);
  }

  TreeDigest hash(const TreeEntry& entry, std::uint64_t place, const Step& step) const override {
    TreeDigest out;
    if (Status status = hash_into(out, entry, versions_[place], step); !status.ok()) out.error = status.error();
    return out;
  }

 private:
  Status hash_into(TreeDigest& out, const TreeEntry& entry, const FileVersion& first, const Step& step) const {
    const std::string name = (root_.path() / entry.path).string();
    CALKIT_TRY(const int opened, root_.open_fd(entry.path));
    const Fd fd(opened);
    ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    out = hash_range(fd.get(), name, 0, entry.bytes, step);
    if (out.error) return {};
    CALKIT_TRY(const FileVersion read, file_version(fd.get(), name));
    out.changed = version_change(first, read);
    if (!out.changed.empty()) return {};
    // Opened again: another file may have taken the name meanwhile.
    const auto again = root_.open_fd(entry.path);
    if (!again.ok()) {
      out.changed = "it is not there any more";
      return {};
    }
    const Fd now(*again);
    CALKIT_TRY(const FileVersion last, file_version(now.get(), name));
    out.changed = version_change(first, last);
    return {};
  }

  Root root_;
  std::vector<FileVersion> versions_;
};

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

class Walk {
 public:
  Walk(std::string name, std::uint64_t most) : name_(std::move(name)), most_(most) {}

  /// Takes the descriptor. kInput names the folder that nests too deep.
  Status list(Fd folder, const std::string& prefix, int depth) {
    if (depth > kMostDepth)
      return input_error(name_, Value(prefix).describe(), "folders nested deeper",
                         fmt::format("at most {}", kMostDepth), "put the files of the package into fewer folders");
    const std::unique_ptr<DIR, CloseDir> dir(::fdopendir(folder.get()));
    if (!dir) return system_error(name_ + "/" + prefix, "list", errno);
    folder.release();
    for (;;) {
      if (interrupted()) return interrupted_error();
      errno = 0;
      const dirent* found = ::readdir(dir.get());
      if (found == nullptr) break;
      if (std::strcmp(found->d_name, ".") == 0 || std::strcmp(found->d_name, "..") == 0) continue;
      CALKIT_CHECK_OK(add(::dirfd(dir.get()), prefix, found->d_name, depth));
    }
    if (errno != 0) return system_error(name_ + "/" + prefix, "list", errno);
    return {};
  }

  OpenTree tree;
  std::vector<FileVersion> versions;

 private:
  Status add(int folder, const std::string& prefix, const char* leaf, int depth) {
    TreeEntry entry;
    entry.path = prefix + leaf;
    if (tree.entries.size() >= most_)
      return input_error(name_, Value(entry.path).describe(), "one entry too many", fmt::format("at most {}", most_),
                         "name the package's own folder, or take out what does not belong to it");
    struct stat facts = {};
    if (::fstatat(folder, leaf, &facts, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) return {};  // gone since it was listed
      return system_error(name_ + "/" + entry.path, "stat", errno);
    }
    if (S_ISDIR(facts.st_mode)) {
      entry.kind = EntryKind::kFolder;
      const std::size_t at = tree.entries.size();
      const std::string below = entry.path + "/";
      tree.entries.emplace_back(std::move(entry), 0);
      Fd next(::openat(folder, leaf, kFolderFlags));
      if (!next.open()) {
        tree.entries[at].first.what = system_error("it", "list", errno).message;
        return {};
      }
      return list(std::move(next), below, depth + 1);
    }
    if (S_ISREG(facts.st_mode)) {
      entry.bytes = static_cast<std::uint64_t>(facts.st_size);
      entry.links = facts.st_nlink;
    } else {
      entry.kind = S_ISLNK(facts.st_mode) ? EntryKind::kLink : EntryKind::kSpecial;
      entry.what = S_ISLNK(facts.st_mode) ? "a symbolic link" : special_name(facts.st_mode);
    }
    tree.entries.emplace_back(std::move(entry), versions.size());
    versions.push_back(version_of(facts));
    return {};
  }

  std::string name_;
  std::uint64_t most_;
};

}  // namespace

Result<FileVersion> file_version(int fd, std::string_view name) {
  struct stat facts = {};
  if (::fstat(fd, &facts) != 0) return system_error(name, "stat", errno);
  return version_of(facts);
}

std::string version_change(const FileVersion& before, const FileVersion& after) {
  if (before.device != after.device || before.inode != after.inode) return "another file took its name";
  if (before.bytes != after.bytes) return fmt::format("{} B became {} B", before.bytes, after.bytes);
  if (before.seconds != after.seconds || before.nanoseconds != after.nanoseconds) return "it was written to";
  return {};
}

Result<OpenTree> open_folder_tree(const std::filesystem::path& path, const ArchiveLimits& limits) {
  CALKIT_TRY(Root root, Root::open(path));
  Fd top(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK));
  if (!top.open()) return system_error(path.string(), "list", errno);
  Walk walk(path.string(), limits.max_entries);
  CALKIT_CHECK_OK(walk.list(std::move(top), {}, 0));
  walk.tree.source = std::make_shared<FolderSource>(std::move(root), std::move(walk.versions));
  return std::move(walk.tree);
}

}  // namespace calkit
