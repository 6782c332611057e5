/// A tree in a .tar.zst. Opening it unpacks it once, piece by piece, hashes every member on the way and keeps the small
/// ones; a large one is unpacked again into memory when it is asked for.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "fd.h"
#include "tar_stream.h"
#include "tree_source.h"

namespace calkit {
namespace {

constexpr std::uint64_t kKeepMember = 4ull << 20, kKeepAll = 64ull << 20;
constexpr std::size_t kPiece = 256 << 10;

class ZstSource final : public FileTree::Source {
 public:
  ZstSource(Fd fd, std::string name, FileVersion version, const ArchiveLimits& limits)
      : fd_(std::move(fd)), name_(std::move(name)), version_(version), limits_(limits) {}

  /// Reads the archive from begin to end.
  Status scan(OpenTree& tree, const ByteProgress& progress) {
    CALKIT_CHECK_OK(rewind());
    std::vector<std::byte> buffer(kPiece);
    std::uint64_t kept = 0;
    for (;; ++at_) {
      CALKIT_TRY(auto member, stream_->next());
      if (progress) progress(stream_->packed_done(), version_.bytes);
      if (!member) break;
      members_.emplace_back();
      if (member->kind == EntryKind::kFile) {
        const bool keep = member->bytes <= std::min(kKeepMember, kKeepAll - kept);
        CALKIT_CHECK_OK(take(members_.back(), keep, buffer, progress), member->path);
        if (members_.back().digest.bytes != member->bytes)
          return input_error(name_, Value(member->path).describe(),
                             fmt::format("{} bytes", members_.back().digest.bytes),
                             fmt::format("{} bytes, as its header says", member->bytes),
                             "the archive is damaged; copy it again, or pack it again");
        if (keep) kept += member->bytes;
      }
      tree.entries.emplace_back(tree_entry(std::move(*member)), members_.size() - 1);
    }
    stream_.reset();
    if (progress) progress(version_.bytes, version_.bytes);
    return tell_change();
  }

  Result<std::string> read(const TreeEntry&, std::uint64_t place) const override {
    CALKIT_TRY(const auto bytes, fetch(place));
    return *bytes;
  }
  Result<std::shared_ptr<const MappedFile>> map(const TreeEntry&, std::uint64_t place) const override {
    CALKIT_TRY(auto bytes, fetch(place));
    return MappedFile::in_memory(std::move(bytes));
  }
  TreeDigest hash(const TreeEntry&, std::uint64_t place, const Step& step) const override {
    TreeDigest out = members_[place].digest;
    if (Status status = step(out.bytes); !status.ok()) out.error = std::move(status).error();
    return out;
  }

 private:
  struct Member {
    TreeDigest digest;
    std::shared_ptr<const std::string> kept;  ///< of a small one
    std::weak_ptr<const std::string> lent;    ///< of a large one, while somebody has it
  };

  Status rewind() const {
    if (::lseek(fd_.get(), 0, SEEK_SET) != 0) return system_error(name_, "rewind", errno);
    stream_ = std::make_unique<TarStream>(name_, limits_);
    at_ = 0;
    return stream_->open_packed(fd_.get(), version_.bytes);
  }

  Status take(Member& member, bool keep, std::vector<std::byte>& buffer, const ByteProgress& progress) {
    Sha256 sha;
    auto text = std::make_shared<std::string>();
    for (std::uint64_t untold = 0;;) {
      CALKIT_TRY(const std::size_t got, stream_->read(buffer));
      if (got == 0) break;
      const auto piece = std::span(buffer).first(got);
      sha.update(piece);
      member.digest.bytes += got;
      if (keep) text->append(reinterpret_cast<const char*>(piece.data()), got);
      if (interrupted()) return interrupted_error();
      if ((untold += got) < kTellEvery || !progress) continue;
      progress(stream_->packed_done(), version_.bytes);
      untold = 0;
    }
    member.digest.sha256 = sha.hex();
    if (keep) member.kept = std::move(text);
    return {};
  }

  Status tell_change() {
    CALKIT_TRY(const FileVersion now, file_version(fd_.get(), name_));
    const std::string change = version_change(version_, now);
    if (change.empty()) return {};
    for (Member& member : members_) member.digest.changed = "of the archive: " + change;
    return {};
  }

  Error changed_since(std::string_view found) const {
    return input_error(name_, {}, found, "the archive that was opened",
                       "wait until whoever writes it is done, then run again");
  }

  /// Members asked for in the order of the archive cost one pass in all.
  Result<std::shared_ptr<const std::string>> fetch(std::uint64_t place) const {
    const std::lock_guard lock(mutex_);
    Member& member = members_[place];
    if (member.kept) return member.kept;
    if (auto lent = member.lent.lock()) return lent;
    if (!stream_ || at_ > place) CALKIT_CHECK_OK(rewind());
    for (;;) {
      CALKIT_TRY(const auto found, stream_->next());
      if (!found) return changed_since("an archive that has become shorter");
      if (at_++ == place) break;
    }
    auto text = std::make_shared<std::string>();
    std::vector<std::byte> buffer(kPiece);
    for (;;) {
      if (interrupted()) return interrupted_error();
      CALKIT_TRY(const std::size_t got, stream_->read(buffer));
      if (got == 0) break;
      text->append(reinterpret_cast<const char*>(buffer.data()), got);
      if (text->size() > member.digest.bytes) break;
    }
    if (text->size() != member.digest.bytes) return changed_since("an archive that changed");
    member.lent = text;
    return std::shared_ptr<const std::string>(std::move(text));
  }

  Fd fd_;
  std::string name_;
  FileVersion version_;
  ArchiveLimits limits_;
  mutable std::mutex mutex_;  ///< of all below
  mutable std::vector<Member> members_;
  mutable std::unique_ptr<TarStream> stream_;
  mutable std::uint64_t at_ = 0;  ///< place of the member that stream_ gives next
};

}  // namespace

Result<OpenTree> open_tar_zst_tree(const std::filesystem::path& path, const FileTree::Options& options) {
  CALKIT_TRY(Fd fd, open_regular(path));
  CALKIT_TRY(const FileVersion version, file_version(fd.get(), path.string()));
  auto source = std::make_shared<ZstSource>(std::move(fd), path.string(), version, options.limits);
  OpenTree tree;
  CALKIT_CHECK_OK(source->scan(tree, options.progress));
  drop_dot(tree);
  tree.source = std::move(source);
  return tree;
}

}  // namespace calkit
