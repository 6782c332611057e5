#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <system_error>
#include <thread>

#include "calkit/base/process.h"
#include "calkit/base/tree.h"
#include "fd.h"
#include "tree_source.h"

namespace calkit {
namespace {

constexpr std::size_t kPiece = 256 << 10;         // stays in the cache between read and hash
constexpr std::uint64_t kWorthAThread = 1 << 20;  // bytes that take longer to hash than a thread takes to start

/// Adds up what all threads have done and tells it, one at a time.
class Meter {
 public:
  Meter(const ByteProgress& tell, std::uint64_t total) : tell_(tell), total_(total) {
    if (tell_) tell_(0, total_);
  }
  Status add(std::uint64_t bytes) {
    if (interrupted()) return interrupted_error();
    if (!tell_) return {};
    const std::lock_guard lock(mutex_);
    done_ += bytes;
    if (done_ - told_ >= kTellEvery || done_ == total_) {
      told_ = done_;
      tell_(done_, total_);
    }
    return {};
  }

  /// The last word, also where a file could not be read to its end.
  void finish() const {
    if (tell_ && done_ != total_) tell_(total_, total_);
  }

 private:
  const ByteProgress& tell_;
  std::uint64_t total_, done_ = 0, told_ = 0;
  std::mutex mutex_;
};

}  // namespace

TreeDigest hash_range(int fd, std::string_view name, std::uint64_t offset, std::uint64_t length, const Step& step) {
  TreeDigest out;
  Sha256 sha;
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, length)));
  while (out.bytes < length) {
    const std::size_t want = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), length - out.bytes));
    const ssize_t got = ::pread(fd, buffer.data(), want, static_cast<off_t>(offset + out.bytes));
    if (got < 0 && errno == EINTR && !interrupted()) continue;
    if (got < 0 && errno != EINTR) {
      out.error = system_error(name, "read", errno);
      return out;
    }
    if (got == 0) {
      out.changed = fmt::format("it ends after {} B of {}", out.bytes, length);
      return out;
    }
    const auto count = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    sha.update(std::span(buffer).first(count));
    out.bytes += count;
    if (Status status = step(count); !status.ok()) {
      out.error = std::move(status).error();
      return out;
    }
  }
  out.sha256 = sha.hex();
  return out;
}

Result<TreeDigests> FileTree::hash(std::span<const std::string> paths, const HashOptions& options) const {
  struct Job {
    const TreeEntry* entry;
    std::uint64_t place;
    TreeDigest* out;
  };
  TreeDigests digests;
  std::vector<Job> jobs;
  std::uint64_t total = 0;
  for (const std::string& path : paths) {
    const auto [at, fresh] = digests.try_emplace(path);
    if (!fresh) continue;
    const auto found = file(path);
    if (!found.ok()) {
      at->second.error = found.error();
      continue;
    }
    jobs.push_back({*found, places_[static_cast<std::size_t>(*found - entries_.data())], &at->second});
    total += (*found)->bytes;
  }
  // The largest first: the threads end at about the same time.
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const Job& a, const Job& b) { return a.entry->bytes > b.entry->bytes; });
  Meter meter(options.progress, total);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size(); i = next++) {
      if (interrupted()) return;
      *jobs[i].out =
          source_->hash(*jobs[i].entry, jobs[i].place, [&meter](std::uint64_t bytes) { return meter.add(bytes); });
    }
  };
  const unsigned cores = options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  const std::size_t most = std::min<std::size_t>({cores, jobs.size(), 1 + total / kWorthAThread});
  {
    std::vector<std::jthread> helpers;
    try {
      while (helpers.size() + 1 < most) helpers.emplace_back(work);
    } catch (const std::system_error&) {  // no more threads to have: those that started do the work
    }
    work();
  }
  meter.finish();
  if (interrupted()) return interrupted_error();
  return digests;
}

Result<TreeDigests> FileTree::hash_all(const HashOptions& options) const {
  std::vector<std::string> paths;
  for (const TreeEntry& entry : entries_)
    if (entry.kind == EntryKind::kFile) paths.push_back(entry.path);
  return hash(paths, options);
}

Result<FileDigest> tree_digest(const FileTree& tree, const TreeDigests& digests) {
  Sha256 sha;
  std::uint64_t bytes = 0;
  for (const TreeEntry& entry : tree.entries()) {
    const auto refused = [&](std::string_view found) {
      return input_error(tree.name(), Value(entry.path).describe(), found, "plain names of regular files, each once",
                         "take it out of the package, or put the file itself in its place");
    };
    if (const std::string reason = unsafe_path_reason(entry.path); !reason.empty())
      return refused("a path of which " + reason);
    if (entry.kind == EntryKind::kFolder && entry.what.empty()) continue;
    if (entry.kind != EntryKind::kFile) return refused(entry.what);
    if (entry.copies > 1) return refused(fmt::format("{} files of this name", entry.copies));
    const auto digest = digests.find(entry.path);
    if (digest == digests.end()) return refused("a file that was not hashed");
    if (digest->second.error) return *digest->second.error;
    if (!digest->second.changed.empty()) return refused("a file that changed meanwhile: " + digest->second.changed);
    sha.update(fmt::format("{}  {}\n", digest->second.sha256, entry.path));
    bytes += digest->second.bytes;
  }
  return FileDigest{sha.hex(), bytes};
}

}  // namespace calkit
