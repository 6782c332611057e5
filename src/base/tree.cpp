#include "calkit/base/tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "fd.h"
#include "tar_stream.h"
#include "tree_source.h"

namespace calkit {
namespace {

class MemorySource final : public FileTree::Source {
 public:
  std::vector<std::shared_ptr<const std::string>> files;

  Result<std::string> read(const TreeEntry&, std::uint64_t place) const override { return *files[place]; }
  Result<std::shared_ptr<const MappedFile>> map(const TreeEntry&, std::uint64_t place) const override {
    return MappedFile::in_memory(files[place]);
  }
  TreeDigest hash(const TreeEntry&, std::uint64_t place, const Step& step) const override {
    TreeDigest out;
    out.bytes = files[place]->size();
    if (Status status = step(out.bytes); !status.ok())
      out.error = std::move(status).error();
    else
      out.sha256 = sha256_hex(*files[place]);
    return out;
  }
};

/// "a gzip file" of its first bytes, so that the hint can say what to do.
const char* known_format(std::string_view head) {
  struct Magic {
    std::string_view bytes;
    const char* name;
  };
  static constexpr Magic kMagics[] = {{"\x1f\x8b", "a gzip file"},
                                      {"PK\x03\x04", "a zip file"},
                                      {"\xfd"
                                       "7zXZ",
                                       "an xz file"},
                                      {"BZh", "a bzip2 file"},
                                      {"{", "a JSON text"}};
  for (const Magic& magic : kMagics)
    if (head.starts_with(magic.bytes)) return magic.name;
  return head.empty() ? "an empty file" : "a file of another kind";
}

Result<OpenTree> open_archive(const std::filesystem::path& path, const FileTree::Options& options) {
  std::array<char, kTarBlock> buffer{};
  CALKIT_TRY(const Fd fd, open_regular(path));
  const ssize_t got = ::pread(fd.get(), buffer.data(), buffer.size(), 0);
  if (got < 0) return system_error(path.string(), "read", errno);
  const std::string_view head(buffer.data(), static_cast<std::size_t>(got));
  if (is_tar_header(head)) return open_tar_tree(path, options.limits);
  if (is_zstd_frame(head)) return open_tar_zst_tree(path, options);
  return input_error(path.string(), {}, known_format(head), "a package folder, a .tar or a .tar.zst of one",
                     "name the folder that holds calbin.json, or pack it: tar -c NAME.calbin | zstd > NAME.tar.zst");
}

/// The one folder that all entries lie in; empty when there is none. Its name must be plain, or it would hide a path
/// that is not.
std::string single_top(const OpenTree& tree) {
  std::string top;
  bool below = false;
  for (const auto& [entry, place] : tree.entries) {
    const std::string first = entry.path.substr(0, entry.path.find('/'));
    if (!unsafe_path_reason(first).empty() || (!top.empty() && first != top)) return {};
    top = first;
    if (entry.path.size() > first.size())
      below = true;
    else if (entry.kind != EntryKind::kFolder)
      return {};
  }
  return below ? top : std::string();
}

void drop_top(OpenTree& tree) {
  const std::string top = single_top(tree);
  if (top.empty()) return;
  std::erase_if(tree.entries, [&](const auto& item) { return item.first.path == top; });
  for (auto& [entry, place] : tree.entries) entry.path.erase(0, top.size() + 1);
}

/// Sorted by path; of members with one path the last stays, and says how many there were.
void sort_entries(OpenTree& tree) {
  auto& entries = tree.entries;
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.first.path < b.first.path; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (kept > 0 && entries[kept - 1].first.path == entries[i].first.path) {
      const bool folders =
          entries[i].first.kind == EntryKind::kFolder && entries[kept - 1].first.kind == EntryKind::kFolder;
      const std::uint64_t copies = entries[kept - 1].first.copies + (folders ? 0 : 1);
      entries[kept - 1] = std::move(entries[i]);
      entries[kept - 1].first.copies = copies;
    } else {
      if (kept != i) entries[kept] = std::move(entries[i]);
      ++kept;
    }
  }
  entries.resize(kept);
}

}  // namespace

TreeEntry tree_entry(TarStream::Member member) {
  TreeEntry entry;
  entry.path = std::move(member.path);
  entry.kind = member.kind;
  if (member.kind == EntryKind::kFile) entry.bytes = member.bytes;
  entry.what = std::move(member.what);
  return entry;
}

void drop_dot(OpenTree& tree) {
  for (auto& [entry, place] : tree.entries)
    if (entry.path.starts_with("./") && entry.path.size() > 2) entry.path.erase(0, 2);
  std::erase_if(tree.entries,
                [](const auto& item) { return item.first.path == "." && item.first.kind == EntryKind::kFolder; });
}

Result<FileTree> FileTree::open(const std::filesystem::path& path, const Options& options) {
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) != 0) return system_error(path.string(), "open", errno);
  const bool folder = S_ISDIR(facts.st_mode);
  CALKIT_TRY(OpenTree opened, folder ? open_folder_tree(path, options.limits) : open_archive(path, options));
  if (!folder) drop_top(opened);
  sort_entries(opened);
  FileTree tree;
  tree.name_ = path.string();
  tree.source_ = std::move(opened.source);
  tree.entries_.reserve(opened.entries.size());
  tree.places_.reserve(opened.entries.size());
  for (auto& [entry, place] : opened.entries) {
    tree.entries_.push_back(std::move(entry));
    tree.places_.push_back(place);
  }
  return tree;
}

FileTree FileTree::memory(std::string name, std::map<std::string, std::string> files) {
  FileTree tree;
  tree.name_ = std::move(name);
  auto source = std::make_shared<MemorySource>();
  for (auto& [path, bytes] : files) {
    TreeEntry entry;
    entry.path = path;
    entry.bytes = bytes.size();
    tree.entries_.push_back(std::move(entry));
    tree.places_.push_back(source->files.size());
    source->files.push_back(std::make_shared<const std::string>(std::move(bytes)));
  }
  tree.source_ = std::move(source);
  return tree;
}

const TreeEntry* FileTree::find(std::string_view path) const {
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), path,
                                   [](const TreeEntry& entry, std::string_view wanted) { return entry.path < wanted; });
  return at != entries_.end() && at->path == path ? &*at : nullptr;
}

Result<const TreeEntry*> FileTree::file(std::string_view path) const {
  const auto refused = [&](std::string_view found) {
    return input_error(name_, Value(path).describe(), found, "a regular file of the package",
                       "name a file by its place below calbin.json, or pack the package again");
  };
  if (const std::string reason = unsafe_path_reason(path); !reason.empty()) return refused("a path of which " + reason);
  const TreeEntry* entry = find(path);
  if (entry == nullptr) return refused("no such file");
  if (entry->kind == EntryKind::kFolder) return refused("a folder");
  if (entry->kind != EntryKind::kFile) return refused(entry->what);
  return entry;
}

Result<std::string> FileTree::read(std::string_view path, std::uint64_t max_bytes) const {
  CALKIT_TRY(const TreeEntry* const entry, file(path));
  if (entry->bytes > max_bytes)
    return input_error(name_, Value(path).describe(), fmt::format("{} bytes", entry->bytes),
                       fmt::format("at most {} bytes", max_bytes), "pack the package again with smaller files");
  return source_->read(*entry, places_[static_cast<std::size_t>(entry - entries_.data())]);
}

Result<std::shared_ptr<const MappedFile>> FileTree::map(std::string_view path) const {
  CALKIT_TRY(const TreeEntry* const entry, file(path));
  return source_->map(*entry, places_[static_cast<std::size_t>(entry - entries_.data())]);
}

}  // namespace calkit
