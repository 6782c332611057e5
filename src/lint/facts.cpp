#include "facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/hash.h"

namespace calkit::lint {

namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// A folder that has no entry of its own, as in an archive of files alone.
bool is_implied_folder(const FileTree& tree, const std::string& path) {
  const std::string below = path + "/";
  const auto& entries = tree.entries();
  const auto at =
      std::lower_bound(entries.begin(), entries.end(), below,
                       [](const TreeEntry& entry, const std::string& wanted) { return entry.path < wanted; });
  return at != entries.end() && at->path.starts_with(below);
}

/// A folder above the file that is a link or cannot be listed decides over the file.
std::optional<FileFacts> look_above(const FileTree& tree, const std::string& path) {
  for (auto slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const TreeEntry* above = tree.find(std::string_view(path).substr(0, slash));
    if (above == nullptr) continue;
    if (above->kind == EntryKind::kLink) return FileFacts{FileState::kUnsafePath, "a part of it is a symbolic link"};
    if (above->kind == EntryKind::kFolder && !above->what.empty())
      return FileFacts{FileState::kUnreadable, fmt::format("folder '{}': {}", above->path, above->what)};
  }
  return std::nullopt;
}

FileFacts look_at(const FileTree& tree, const std::string& path) {
  if (std::string why = path_problem(path); !why.empty()) return {FileState::kUnsafePath, std::move(why)};
  if (auto above = look_above(tree, path)) return *above;
  const TreeEntry* entry = tree.find(path);
  if (entry == nullptr)
    return is_implied_folder(tree, path) ? FileFacts{FileState::kNotRegular, "a folder"} : FileFacts{};
  switch (entry->kind) {
    case EntryKind::kLink:
      return {FileState::kUnsafePath, "it is a symbolic link"};
    case EntryKind::kFolder:
      return {FileState::kNotRegular, "a folder"};
    case EntryKind::kSpecial:
      return {FileState::kNotRegular, entry->what};
    case EntryKind::kFile:
      break;
  }
  return {FileState::kPresent, {}, entry->bytes, entry->links};
}

Result<std::shared_ptr<const FileTree>> open_tree(const Inputs& inputs) {
  if (inputs.tree) return inputs.tree;
  FileTree::Options options;
  options.progress = inputs.progress;
  CALKIT_TRY(auto tree, FileTree::open(inputs.package, options));
  return std::make_shared<const FileTree>(std::move(tree));
}

/// The description in the canonical form, whatever dialect it is written in. Fails only for a bad dialect file; what is
/// wrong with the package becomes `unreadable`.
Status read_canonical(Facts& facts, const Result<std::vector<calbin::Dialect>>& known) {
  if (!known.ok()) return known.error();
  const auto& dialects = *known;
  for (const auto& dialect : dialects)
    if (facts.tree->find(dialect.file) != nullptr) facts.file = dialect.file;
  auto canonical = calbin::translate([&](std::string_view name) { return facts.tree->read(name); }, dialects, {},
                                     facts.inputs.limits);
  if (!canonical.ok()) {
    facts.unreadable = std::move(canonical).error();
    return {};
  }
  facts.canonical = std::move(canonical).value();
  facts.file = facts.canonical->file;
  facts.digest = facts.canonical->file_digest;
  facts.document = std::move(facts.canonical->document);
  return {};
}

template <class Parsed>
void read_listed(const Facts& facts, ListedDocument& out, std::optional<Parsed>& parsed,
                 Result<Parsed> (*parse)(const Cursor&)) {
  auto text = facts.tree->read(out.path);
  if (!text.ok()) {
    out.error = text.error().message;
    return;
  }
  auto document = parse_json(*text, out.path, facts.inputs.limits);
  if (!document.ok()) {
    out.error = document.error().message;
    out.problem = document.error().read_problem;
    return;
  }
  out.document = std::move(document).value();
  auto read = parse(Cursor(out.document, out.path));
  if (read.ok())
    parsed = std::move(read).value();
  else
    out.error = read.error().message;
}

/// True when the file is there to be read.
bool find_listed(const Facts& facts, std::size_t submodel, std::int64_t chip, const std::string& id,
                 ListedDocument& out) {
  out.submodel = submodel;
  out.chip = chip;
  const auto at = facts.file_index.find(id);
  if (at == facts.file_index.end()) return false;
  const auto& file = facts.description().files[at->second];
  out.path = file.path;
  out.role = file.role;
  return facts.files[at->second].state == FileState::kPresent;
}

void gather_listed(Facts& facts) {
  const auto& d = facts.description();
  for (std::size_t i = 0; i < d.submodels.size(); ++i) {
    for (const auto& [chip, id] : d.submodels[i].oplist) {
      OpListFacts out;
      if (find_listed(facts, i, chip, id, out)) read_listed(facts, out, out.oplist, &calbin::parse_oplist);
      facts.oplists.push_back(std::move(out));
    }
    for (const auto& [chip, id] : d.submodels[i].iomap) {
      IoMapFacts out;
      if (find_listed(facts, i, chip, id, out)) read_listed(facts, out, out.map, &calbin::parse_iomap);
      facts.iomaps.push_back(std::move(out));
    }
  }
}

}  // namespace

std::string path_problem(std::string_view path) {
  if (std::string reason = unsafe_path_reason(path); !reason.empty()) return reason;
  if (path.front() == '~') return "a shell reads '~' as a home folder";
  if (path.size() >= 2 && is_letter(path[0]) && path[1] == ':') return "it begins with a drive letter";
  return {};
}

Result<Facts> gather(const Inputs& inputs) {
  Facts facts;
  facts.inputs = inputs;
  if (inputs.profile) {
    facts.profile = *inputs.profile;
  } else {
    CALKIT_TRY(facts.profile, manifest::default_device_profile());
  }
  const auto& built_in = manifest::default_support_matrix();
  if (!inputs.support && !built_in.ok()) return built_in.error();
  facts.support = inputs.support ? &*inputs.support : &*built_in;
  if (inputs.baseline) {
    CALKIT_TRY(facts.baseline, manifest::read_baseline_facts(*inputs.baseline), "reading --baseline");
  }
  CALKIT_TRY(facts.tree, open_tree(inputs), fmt::format("opening the package {}", inputs.package.string()));
  const auto& dir = inputs.dialects;
  CALKIT_CHECK_OK(dir.empty() ? read_canonical(facts, calbin::shipped_dialects())
                              : read_canonical(facts, calbin::dialects_with(dir)));
  if (facts.unreadable) return facts;
  facts.reading = calbin::read_description(Cursor(*facts.document, facts.file));
  facts.schema_known = facts.document->is_object();
  for (const auto& problem : facts.reading.problems)
    if (problem.kind == calbin::ProblemKind::kSchema) facts.schema_known = false;
  for (const auto& file : facts.description().files) {
    facts.file_index.emplace(file.id, facts.files.size());
    facts.files.push_back(look_at(*facts.tree, file.path));
  }
  const auto& regions = facts.description().memory.regions;
  for (std::size_t i = 0; i < regions.size(); ++i) facts.region_index.emplace(regions[i].id, i);
  gather_listed(facts);
  CALKIT_TRY(facts.digests, facts.tree->hash_all({0, inputs.progress}), "hashing the package");
  return facts;
}

}  // namespace calkit::lint
