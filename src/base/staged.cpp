#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "calkit/base/files.h"
#include "calkit/base/process.h"
#include "fd.h"

namespace calkit {
namespace fs = std::filesystem;
namespace {

/// A temporary is `.NAME.calkit-tmp-XXXXXX` beside its target. Its owner holds a lock on it (flock), which the kernel
/// drops when the owner dies: so a temporary whose lock is free belongs to nobody and may be removed.
constexpr std::string_view kTemporaryMark = ".calkit-tmp-";
constexpr std::size_t kSuffixLength = 6;

struct Target {
  fs::path path;    ///< final name
  fs::path parent;  ///< existing folder
  std::string prefix() const { return fmt::format(".{}{}", path.filename().string(), kTemporaryMark); }
};

Result<Target> prepare_target(const fs::path& given) {
  Target target;
  target.path = given.lexically_normal();
  if (!target.path.has_filename()) target.path = target.path.parent_path();  // "out/" means "out"
  const std::string name = target.path.filename().string();
  if (name.empty() || name == "." || name == "..")
    return input_error(given.string(), {}, "a path without a name of its own",
                       "the path of the file or folder to write");
  target.parent = target.path.has_parent_path() ? target.path.parent_path() : fs::path(".");
  std::error_code problem;
  fs::create_directories(target.parent, problem);
  if (problem) return system_error(target.parent.string(), "make this folder", problem.value());
  return target;
}

std::string random_suffix() {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::array<unsigned char, kSuffixLength> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) bytes.fill(0);
  std::string suffix;
  for (const unsigned char byte : bytes) suffix += kLetters[byte % kLetters.size()];
  return suffix;
}

/// Removes the temporaries of dead runs for this target; those of live ones are locked and stay.
void remove_abandoned(const Target& target) {
  const std::string prefix = target.prefix();
  std::error_code problem;
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(target.parent, problem); !problem && entry != fs::directory_iterator();
       entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    if (name.size() == prefix.size() + kSuffixLength && name.starts_with(prefix)) found.push_back(entry->path());
  }
  for (const fs::path& path : found) {
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (fd.open() && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) fs::remove_all(path, problem);
  }
}

struct Temporary {
  fs::path path;
  Fd lock;  ///< of the file or folder itself
};

/// Makes a locked temporary. `make` creates it exclusively and returns an open descriptor or -1.
template <class Make>
Result<Temporary> make_temporary(const Target& target, const Make& make) {
  constexpr int kTries = 100;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    Temporary made;
    made.path = target.parent / (target.prefix() + random_suffix());
    made.lock = Fd(make(made.path));
    if (!made.lock.open() && (errno == EEXIST || errno == ENOENT)) continue;
    if (!made.lock.open()) return system_error(made.path.string(), "create", errno);
    // Another run may have taken the new name for an abandoned one before the lock was ours: then start again.
    struct stat locked = {};
    struct stat named = {};
    if (::flock(made.lock.get(), LOCK_EX | LOCK_NB) == 0 && ::fstat(made.lock.get(), &locked) == 0 &&
        ::lstat(made.path.c_str(), &named) == 0 && locked.st_ino == named.st_ino && locked.st_dev == named.st_dev) {
      return made;
    }
  }
  return Error{ErrorKind::kIo, fmt::format("{}: cannot create a temporary beside it", target.path.string()),
               "is the file system able to lock files?"};
}

int make_folder(const fs::path& path) {
  if (::mkdir(path.c_str(), 0777) != 0) return -1;
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}
int make_file(const fs::path& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
}

Status sync_path(const fs::path& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.open()) return system_error(path.string(), "open", errno);
  // EINVAL: a file system that has nothing to sync there.
  if (::fsync(fd.get()) != 0 && errno != EINVAL) return system_error(path.string(), "sync", errno);
  return {};
}

Status sync_tree(const fs::path& dir) {
  std::error_code problem;
  fs::recursive_directory_iterator entry(dir, problem);
  for (; !problem && entry != fs::recursive_directory_iterator(); entry.increment(problem)) {
    if (entry->is_symlink(problem)) continue;
    CALKIT_CHECK_OK(sync_path(entry->path()));
  }
  if (problem) return system_error(dir.string(), "list", problem.value());
  return sync_path(dir);
}

/// Puts the folder `made` under the name `target`. What stood there before ends under the temporary name and is
/// removed; a kill in between leaves it for remove_abandoned().
Status publish_folder(const fs::path& made, const fs::path& target) {
  if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) == 0) return {};
  if (errno == EINVAL ||
      errno == ENOSYS) {  // a file system without these flags: rename takes an empty or missing target
    if (::rename(made.c_str(), target.c_str()) == 0) return {};
    const fs::path aside = made.string().substr(0, made.string().size() - kSuffixLength) + random_suffix();
    if (::rename(target.c_str(), aside.c_str()) != 0) return system_error(target.string(), "replace", errno);
    if (::rename(made.c_str(), target.c_str()) != 0) {
      const int number = errno;
      ::rename(aside.c_str(), target.c_str());
      return system_error(target.string(), "replace", number);
    }
    std::error_code ignored;
    fs::remove_all(aside, ignored);
    return {};
  }
  if (errno != EEXIST) return system_error(target.string(), "rename to", errno);
  if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) != 0)
    return system_error(target.string(), "replace", errno);
  std::error_code ignored;
  fs::remove_all(made, ignored);
  return {};
}

}  // namespace

struct StagedDir::State {
  Target target;
  Temporary made;
  bool finished = false;
  ~State() {
    std::error_code ignored;
    if (!finished) fs::remove_all(made.path, ignored);
  }
};

StagedDir::StagedDir(std::unique_ptr<State> state) : state_(std::move(state)) {}
StagedDir::~StagedDir() = default;
StagedDir::StagedDir(StagedDir&&) noexcept = default;
StagedDir& StagedDir::operator=(StagedDir&&) noexcept = default;

Result<StagedDir> StagedDir::create(const fs::path& target) {
  CALKIT_TRY(Target prepared, prepare_target(target));
  std::error_code problem;
  const fs::file_status old = fs::symlink_status(prepared.path, problem);
  if (fs::exists(old) && !fs::is_directory(old)) {
    return input_error(target.string(), {}, fs::is_symlink(old) ? "a symbolic link" : "a file",
                       "a folder, or a name that is free");
  }
  remove_abandoned(prepared);
  CALKIT_TRY(Temporary made, make_temporary(prepared, make_folder));
  auto state = std::make_unique<State>();
  state->target = std::move(prepared);
  state->made = std::move(made);
  return StagedDir(std::move(state));
}

const fs::path& StagedDir::path() const {
  return state_->made.path;
}

Status StagedDir::commit() {
  CALKIT_CHECK_OK(sync_tree(state_->made.path));
  if (interrupted()) return interrupted_error();
  CALKIT_CHECK_OK(publish_folder(state_->made.path, state_->target.path));
  state_->finished = true;
  return sync_path(state_->target.parent);
}

struct StagedFile::State {
  Target target;
  Temporary made;
  std::string pending;  ///< not yet handed to the system: callers write small pieces
  std::uint64_t size = 0;
  bool finished = false;
  ~State() {
    if (!finished) ::unlink(made.path.c_str());
  }
  Status flush() {
    std::string_view rest = pending;
    while (!rest.empty()) {
      const ssize_t wrote = ::write(made.lock.get(), rest.data(), rest.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return system_error(target.path.string(), "write", errno);
      rest.remove_prefix(static_cast<std::size_t>(wrote));
    }
    pending.clear();
    return {};
  }
};

StagedFile::StagedFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
StagedFile::~StagedFile() = default;
StagedFile::StagedFile(StagedFile&&) noexcept = default;
StagedFile& StagedFile::operator=(StagedFile&&) noexcept = default;

Result<StagedFile> StagedFile::create(const fs::path& target) {
  CALKIT_TRY(Target prepared, prepare_target(target));
  std::error_code problem;
  // Renaming over /dev/full or a folder would destroy it; over a link, it would leave the reader with the old bytes.
  const fs::file_status old = fs::symlink_status(prepared.path, problem);
  if (fs::exists(old) && !fs::is_regular_file(old)) {
    const char* found = fs::is_symlink(old) ? "a symbolic link" : fs::is_directory(old) ? "a folder" : "a special file";
    return input_error(target.string(), {}, found, "a regular file, or a name that is free");
  }
  remove_abandoned(prepared);
  CALKIT_TRY(Temporary made, make_temporary(prepared, make_file));
  auto state = std::make_unique<State>();
  state->target = std::move(prepared);
  state->made = std::move(made);
  return StagedFile(std::move(state));
}

const fs::path& StagedFile::path() const {
  return state_->made.path;
}
std::uint64_t StagedFile::size() const {
  return state_->size;
}

Status StagedFile::write(std::span<const std::byte> bytes) {
  return write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Status StagedFile::write(std::string_view text) {
  constexpr std::size_t kPiece = 1 << 20;
  state_->size += text.size();
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, kPiece - state_->pending.size());
    state_->pending += piece;
    text.remove_prefix(piece.size());
    if (state_->pending.size() == kPiece) CALKIT_CHECK_OK(state_->flush());
  }
  return {};
}

Status StagedFile::commit() {
  CALKIT_CHECK_OK(state_->flush());
  if (::fsync(state_->made.lock.get()) != 0 && errno != EINVAL)
    return system_error(state_->target.path.string(), "sync", errno);
  if (interrupted()) return interrupted_error();
  if (::rename(state_->made.path.c_str(), state_->target.path.c_str()) != 0)
    return system_error(state_->target.path.string(), "rename to", errno);
  state_->finished = true;
  return sync_path(state_->target.parent);
}

}  // namespace calkit
