#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "calkit/base/files.h"
#include "calkit/base/text.h"
#include "calkit/base/value.h"
#include "fd.h"

namespace calkit {
namespace fs = std::filesystem;
namespace {

constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

/// For kernels without openat2: each folder on the way is opened by itself, and none may be a link.
/// Returns -1 and errno, as openat2 does.
int open_walking(int root, std::string_view relative) {
  const std::vector<std::string> parts = split(relative, '/');
  Fd folder;
  int at = root;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    Fd next(::openat(at, parts[i].c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.open()) {
      struct stat facts = {};
      const int number = errno;
      const bool link = ::fstatat(at, parts[i].c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(facts.st_mode);
      errno = link ? ELOOP : number;
      return -1;
    }
    folder = std::move(next);
    at = folder.get();
  }
  return ::openat(at, parts.back().c_str(), kReadFlags | O_NOFOLLOW);
}

int open_beneath(int root, std::string_view relative) {
  open_how how = {};
  how.flags = static_cast<std::uint64_t>(kReadFlags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const std::string path(relative);
  const long fd = ::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how);
  // Old kernels answer ENOSYS; some container filters answer EPERM to calls they do not know.
  if (fd < 0 && (errno == ENOSYS || errno == EPERM)) return open_walking(root, relative);
  return static_cast<int>(fd);
}

}  // namespace

std::string unsafe_path_reason(std::string_view relative) {
  if (relative.empty()) return "it is empty";
  if (relative.front() == '/') return "it is absolute";
  if (relative.find('\0') != std::string_view::npos) return "it has a NUL byte";
  if (relative.find('\\') != std::string_view::npos) return "it has a backslash";
  if (invalid_utf8_at(relative) != std::string_view::npos) return "it is not UTF-8";
  if (std::any_of(relative.begin(), relative.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; })) {
    return "it has a control character";
  }
  for (const std::string& part : split(relative, '/')) {
    if (part.empty()) return "it has an empty part";
    if (part == ".") return "it has a part '.'";
    if (part == "..") return "it has a part '..'";
  }
  return {};
}

Result<Root> Root::open(const fs::path& dir) {
  Fd fd(::open(dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd.open()) return system_error(dir.string(), "open this folder", errno);
  Root root;
  root.fd_ = fd.release();
  root.path_ = dir;
  return root;
}

Root::~Root() {
  Fd closing(fd_);
}
Root::Root(Root&& other) noexcept : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}
Root& Root::operator=(Root&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  return *this;
}

Result<int> Root::open_fd(std::string_view relative) const {
  const auto refused = [&](std::string_view why) {
    return input_error((path_ / "").string(), {}, fmt::format("path {}: {}", Value(relative).describe(), why),
                       "a plain relative path of a regular file inside the folder");
  };
  if (const std::string reason = unsafe_path_reason(relative); !reason.empty()) return refused(reason);
  const std::string name = (path_ / relative).string();
  Fd fd(open_beneath(fd_, relative));
  if (!fd.open()) {
    if (errno == ELOOP) return refused("a part of it is a symbolic link");
    if (errno == EXDEV) return refused("it leads out of the folder");
    return system_error(name, "open", errno);
  }
  CALKIT_TRY(const std::uint64_t size, regular_size(fd.get(), name));
  static_cast<void>(size);
  return fd.release();
}

Result<std::string> Root::read(std::string_view relative, std::uint64_t max_bytes) const {
  CALKIT_TRY(const int opened, open_fd(relative));
  const Fd fd(opened);
  return read_whole(fd.get(), (path_ / relative).string(), max_bytes);
}

Result<std::shared_ptr<const MappedFile>> Root::map(std::string_view relative) const {
  CALKIT_TRY(const int opened, open_fd(relative));
  const Fd fd(opened);
  return MappedFile::from_fd(fd.get(), (path_ / relative).string());
}

Status Root::read_chunks(std::string_view relative, const ChunkSink& sink) const {
  CALKIT_TRY(const int opened, open_fd(relative));
  const Fd fd(opened);
  return calkit::read_chunks(fd.get(), (path_ / relative).string(), sink);
}

Result<Root::FileInfo> Root::stat(std::string_view relative) const {
  CALKIT_TRY(const int opened, open_fd(relative));
  const Fd fd(opened);
  struct stat facts = {};
  if (::fstat(fd.get(), &facts) != 0) return system_error((path_ / relative).string(), "stat", errno);
  return FileInfo{static_cast<std::uint64_t>(facts.st_size), static_cast<std::uint64_t>(facts.st_nlink)};
}

Result<std::vector<std::string>> list_tree(const fs::path& dir) {
  std::vector<std::string> files;
  std::error_code problem;
  fs::recursive_directory_iterator entry(dir, problem);
  if (problem) return system_error(dir.string(), "list", problem.value());
  for (; entry != fs::recursive_directory_iterator(); entry.increment(problem)) {
    const fs::file_status status = entry->symlink_status(problem);
    if (problem) return system_error(entry->path().string(), "stat", problem.value());
    const std::string relative = entry->path().lexically_relative(dir).string();
    const std::string reason = unsafe_path_reason(relative);
    if (!reason.empty()) {
      return input_error(dir.string(), {}, fmt::format("a file named {}: {}", Value(relative).describe(), reason),
                         "plain UTF-8 names");
    }
    if (fs::is_directory(status)) continue;
    if (!fs::is_regular_file(status)) {
      return input_error(entry->path().string(), {}, fs::is_symlink(status) ? "a symbolic link" : "a special file",
                         "regular files and folders");
    }
    files.push_back(relative);
  }
  if (problem) return system_error(dir.string(), "list", problem.value());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace calkit
