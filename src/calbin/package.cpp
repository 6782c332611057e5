#include "calkit/calbin/package.h"

#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/checked.h"
#include "calkit/calbin/dialect.h"
#include "calkit/calbin/reading.h"

namespace calkit::calbin {

namespace {

constexpr const char* kDescriptionFile = "calbin.json";

template <class Item>
const Item* by_id(const std::vector<Item>& items, std::string_view id) {
  const auto at = std::find_if(items.begin(), items.end(), [&](const Item& item) { return item.id == id; });
  return at != items.end() ? &*at : nullptr;
}

/// parse_description() of a translated description: a problem is told where the producer wrote it.
Result<Description> describe(const Canonical& canonical, const std::string& place) {
  const std::string name = place + "/" + canonical.file;
  auto parsed = parse_description(Cursor(canonical.document, name));
  if (parsed.ok() || canonical.is_canonical) return parsed;
  for (const auto& problem : read_description(Cursor(canonical.document, name)).problems) {
    if (problem.kind == ProblemKind::kDigestCase) continue;
    const Source source = canonical.source(problem.pointer);
    return input_error(fmt::format("{}:{}", name, source.line), source.pointer,
                       fmt::format("{} for {}", problem.found, problem.pointer), problem.allowed, problem.hint);
  }
  return parsed;
}

}  // namespace

const PackageFile* Description::file(std::string_view id) const {
  return by_id(files, id);
}

const Region* Description::region(std::string_view id) const {
  return by_id(memory.regions, id);
}

const Submodel* Description::submodel(std::string_view exact_name) const {
  const auto at =
      std::find_if(submodels.begin(), submodels.end(), [&](const Submodel& s) { return s.name == exact_name; });
  return at != submodels.end() ? &*at : nullptr;
}

Result<Package> Package::open(const std::filesystem::path& path) {
  const auto during = [&] { return fmt::format("opening the package {}", path.string()); };
  CALKIT_TRY(auto tree, FileTree::open(path), during());
  CALKIT_TRY(auto package, open(std::make_shared<const FileTree>(std::move(tree))), during());
  return package;
}

namespace {

/// A part above this path is an entry that is no folder: a link, or a file.
bool lies_behind(const FileTree& tree, std::string_view path) {
  for (std::size_t at = path.find('/'); at != std::string_view::npos; at = path.find('/', at + 1)) {
    const TreeEntry* above = tree.find(path.substr(0, at));
    if (above != nullptr && above->kind != EntryKind::kFolder) return true;
  }
  return false;
}

/// A folder cannot hold such paths; an archive can, and means harm to whoever unpacks it.
Status check_paths(const FileTree& tree) {
  for (const TreeEntry& entry : tree.entries()) {
    std::string reason = unsafe_path_reason(entry.path);
    if (reason.empty() && entry.copies > 1) reason = fmt::format("it is there {} times", entry.copies);
    if (reason.empty() && lies_behind(tree, entry.path)) reason = "it lies behind an entry that is no folder";
    if (!reason.empty())
      return input_error(tree.name(), {}, fmt::format("a member {}: {}", Value(entry.path).describe(), reason),
                         "plain relative paths, each once", "make the archive again");
  }
  return {};
}

}  // namespace

Result<Package> Package::open(std::shared_ptr<const FileTree> tree) {
  CALKIT_CHECK_OK(check_paths(*tree));
  const auto& dialects = shipped_dialects();
  if (!dialects.ok()) return dialects.error();
  CALKIT_TRY(auto canonical,
             translate([&](std::string_view file) { return tree->read(file); }, *dialects, tree->name()));
  Package out;
  CALKIT_TRY(out.description_, describe(canonical, tree->name()));
  out.digest_ = canonical.file_digest;
  out.document_ = std::make_shared<const Value>(std::move(canonical.document));
  out.tree_ = std::move(tree);
  return out;
}

bool holds_logical_shape(const Param& param) {
  if (!param.quant_ref.empty()) return true;
  const bool sliced = param.shard && !param.shard->replicated;
  const std::int64_t count = sliced ? param.shard->count : 1;
  const Shape &block = param.shape, &whole = param.logical_shape;
  if (block.size() != whole.size()) {
    const auto held = checked_product(block, static_cast<std::uint64_t>(count)), wanted = checked_product(whole);
    return !held || !wanted || *held >= *wanted;
  }
  for (std::size_t axis = 0; axis < block.size(); ++axis) {
    const bool cut = sliced && static_cast<std::int64_t>(axis) == param.shard->axis;
    if ((cut ? checked_mul(block[axis], count).value_or(INT64_MAX) : block[axis]) < whole[axis]) return false;
  }
  return true;
}

std::string Package::place_of(const PackageFile& file) const {
  return tree_->name() + "/" + file.path;
}

Result<std::shared_ptr<const MappedFile>> Package::map(std::string_view file_id) const {
  const auto* file = description_.file(file_id);
  if (file == nullptr)
    return input_error(tree_->name() + "/" + kDescriptionFile, "/files", fmt::format("no file with id '{}'", file_id),
                       "an id of /files");
  CALKIT_TRY(auto mapped, tree_->map(file->path), fmt::format("mapping file '{}' of the package", file_id));
  if (mapped->size() != file->size)
    return input_error(place_of(*file), "size", fmt::format("{} bytes", mapped->size()),
                       fmt::format("{} bytes, as calbin.json says", file->size), "the file was cut or replaced");
  return mapped;
}

Status Package::verify_files() const {
  std::vector<std::string> paths;
  for (const auto& file : description_.files) {
    const TreeEntry* entry = tree_->find(file.path);
    if (entry == nullptr && file.optional) continue;
    if (entry != nullptr && entry->kind == EntryKind::kFile && entry->bytes != file.size)
      return input_error(place_of(file), "size", fmt::format("{} bytes", entry->bytes),
                         fmt::format("{} bytes, as calbin.json says", file.size), "the file was cut or replaced");
    paths.push_back(file.path);
  }
  CALKIT_TRY(const TreeDigests digests, tree_->hash(paths, {}));
  for (const auto& file : description_.files) {
    const auto at = digests.find(file.path);
    if (at == digests.end()) continue;
    if (at->second.error)
      return Error(*at->second.error).during(fmt::format("verifying file '{}' of the package", file.id));
    if (!at->second.changed.empty())
      return input_error(place_of(file), {}, "a file that changed while it was read: " + at->second.changed,
                         "a file at rest", "wait until whoever writes it is done");
    const std::string digest = "sha256:" + at->second.sha256;
    if (digest != file.digest)
      return input_error(place_of(file), "digest", digest, file.digest + ", as calbin.json says",
                         "the file was changed after the package was made");
  }
  return {};
}

}  // namespace calkit::calbin
