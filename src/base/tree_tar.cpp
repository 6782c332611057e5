/// A tree in a plain .tar: its members are found once and read where they lie.
#include <fmt/format.h>

#include "calkit/base/checked.h"
#include "fd.h"
#include "tar_stream.h"
#include "tree_source.h"

namespace calkit {
namespace {

class TarSource final : public FileTree::Source {
 public:
  TarSource(Fd fd, std::string name, FileVersion version, std::shared_ptr<const MappedFile> file)
      : fd_(std::move(fd)), name_(std::move(name)), version_(version), file_(std::move(file)) {}

  Result<std::string> read(const TreeEntry& entry, std::uint64_t place) const override {
    return std::string(reinterpret_cast<const char*>(file_->bytes().data()) + place,
                       static_cast<std::size_t>(entry.bytes));
  }
  Result<std::shared_ptr<const MappedFile>> map(const TreeEntry& entry, std::uint64_t place) const override {
    return MappedFile::part_of(file_, place, entry.bytes);
  }
  TreeDigest hash(const TreeEntry& entry, std::uint64_t place, const Step& step) const override {
    TreeDigest out = hash_range(fd_.get(), name_, place, entry.bytes, step);
    if (out.error || !out.changed.empty()) return out;
    const auto now = file_version(fd_.get(), name_);
    if (!now.ok())
      out.error = now.error();
    else if (const std::string change = version_change(version_, *now); !change.empty())
      out.changed = "of the archive: " + change;
    return out;
  }

 private:
  Fd fd_;
  std::string name_;
  FileVersion version_;
  std::shared_ptr<const MappedFile> file_;
};

}  // namespace

Result<OpenTree> open_tar_tree(const std::filesystem::path& path, const ArchiveLimits& limits) {
  const std::string name = path.string();
  CALKIT_TRY(Fd fd, open_regular(path));
  CALKIT_TRY(const FileVersion version, file_version(fd.get(), name));
  CALKIT_TRY(auto file, MappedFile::open(path));
  TarStream stream(name, limits);
  CALKIT_CHECK_OK(stream.open_plain(file->bytes()));
  OpenTree tree;
  for (;;) {
    CALKIT_TRY(auto member, stream.next());
    if (!member) break;
    std::uint64_t place = 0;
    if (member->kind == EntryKind::kFile) {
      CALKIT_TRY(const auto offset, stream.offset(*member));
      if (offset && range_inside(*offset, member->bytes, file->size())) {
        place = *offset;
      } else {
        member->kind = EntryKind::kSpecial;
        member->what = "a sparse file, stored in pieces";
      }
    }
    tree.entries.emplace_back(tree_entry(std::move(*member)), place);
  }
  drop_dot(tree);
  tree.source = std::make_shared<TarSource>(std::move(fd), name, version, std::move(file));
  return tree;
}

}  // namespace calkit
