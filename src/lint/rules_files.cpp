/// Family 01: the listed files are there, are the ones that were listed, and stay inside the package.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "calkit/base/text.h"
#include "calkit/base/unicode.h"
#include "families.h"
#include "names.h"

namespace calkit::lint {

namespace {

template <class Visit>
void each_file(Check& check, Visit visit) {
  const auto& files = check.d().files;
  for (std::size_t i = 0; i < files.size(); ++i)
    if (const auto pointer = fmt::format("/files/{}", i); check.usable(pointer))
      visit(files[i], check.facts().files[i], pointer);
}

/// A file that may not be looked at leaves the rule without an answer.
bool seen(Check& check, const calbin::PackageFile& file, const FileFacts& facts) {
  if (facts.state != FileState::kUnreadable) return true;
  check.not_evaluated(fmt::format("{}: {}", file.path, facts.why));
  return false;
}

void check_file_missing(Check& check) {
  each_file(check, [&](const calbin::PackageFile& file, const FileFacts& facts, const std::string& pointer) {
    if (!seen(check, file, facts) || facts.state != FileState::kMissing) return;
    if (file.optional)
      return check.inform(pointer, {fmt::format("optional file '{}' is absent", file.path), "no such file",
                                    "optional: true allows it", "nothing, unless it was meant to be there"});
    check.report(pointer,
                 {fmt::format("listed file '{}' is absent", file.path), "no such file",
                  fmt::format("a regular file of {} B", file.size), "copy the package again, or pack it again"});
  });
}

void check_file_size(Check& check) {
  each_file(check, [&](const calbin::PackageFile& file, const FileFacts& facts, const std::string& pointer) {
    if (!seen(check, file, facts) || facts.state != FileState::kPresent || facts.bytes == file.size) return;
    check.report(pointer + "/size", {fmt::format("{} file '{}' has another size than listed", file.role, file.path),
                                     fmt::format("{} B found", facts.bytes), fmt::format("{} B", file.size),
                                     facts.bytes < file.size ? "the copy was cut short; copy the package again"
                                                             : "bytes were added; copy the package again"});
  });
}

/// The seal covers the description itself, which no entry of `files` can.
void check_seal(Check& check) {
  for (const auto& problem : check.facts().reading.problems)
    if (problem.kind == calbin::ProblemKind::kSeal)
      check.report(problem.pointer, {"the description was changed after it was sealed", problem.found, problem.allowed,
                                     "copy the package again, or have its producer seal what it means"});
}

void check_file_hash(Check& check) {
  check_seal(check);
  each_file(check, [&](const calbin::PackageFile& file, const FileFacts& facts, const std::string& pointer) {
    if (facts.state == FileState::kNotRegular)
      return check.not_evaluated(fmt::format("{} is {} and was not opened", file.path, facts.why));
    if (!seen(check, file, facts) || facts.state != FileState::kPresent || facts.bytes != file.size) return;
    const auto hashed = check.facts().digests.find(file.path);
    if (hashed == check.facts().digests.end()) return check.not_evaluated(file.path + " was not hashed");
    const TreeDigest& digest = hashed->second;
    if (digest.error) return check.not_evaluated(fmt::format("{}: {}", file.path, digest.error->message));
    if (!digest.changed.empty())
      return check.not_evaluated(fmt::format("{} changed while it was hashed: {}", file.path, digest.changed));
    if (const std::string found = "sha256:" + digest.sha256; found != file.digest)
      check.report(pointer + "/digest",
                   {fmt::format("{} file '{}' is not the file that was listed", file.role, file.path), found,
                    file.digest, "the file was changed after packing; copy the package again, or pack it again"});
  });
}

/// A path of an archive that unpacks to somewhere else; names in a folder cannot be such.
bool leaves(std::string_view path) {
  const auto parts = split(path, '/');
  return path.starts_with('/') || std::find(parts.begin(), parts.end(), "..") != parts.end();
}

std::set<std::string, std::less<>> links_of(const FileTree& tree) {
  std::set<std::string, std::less<>> out;
  for (const TreeEntry& entry : tree.entries())
    if (entry.kind == EntryKind::kLink) out.insert(entry.path);
  return out;
}

/// Only an archive can hold a file below a link.
bool lies_behind(std::string_view path, const std::set<std::string, std::less<>>& links) {
  if (links.empty()) return false;
  for (auto at = path.find('/'); at != std::string_view::npos; at = path.find('/', at + 1))
    if (links.contains(path.substr(0, at))) return true;
  return false;
}

void check_unlisted_file(Check& check) {
  std::set<std::string> listed{check.facts().file};
  for (const auto& file : check.d().files) listed.insert(file.path);
  for (const TreeEntry& entry : check.facts().tree->entries()) {
    if (entry.kind == EntryKind::kFolder) {
      if (!entry.what.empty()) check.not_evaluated(fmt::format("folder '{}': {}", entry.path, entry.what));
      continue;
    }
    const std::string name = lower(entry.path.substr(entry.path.rfind('/') + 1));
    const bool allowed = name.starts_with("readme") || name.starts_with("license");
    if (listed.contains(entry.path) || allowed || leaves(entry.path)) continue;
    check.report_in(entry.path, {}, 0,
                    {fmt::format("'{}' is in the package but not listed", entry.path),
                     entry.kind == EntryKind::kFile ? "no entry in calbin.json#/files" : entry.what,
                     "every file of a package is listed with its hash", "list it, or take it out"},
                    Severity::kWarning);
  }
}

void check_path_escape(Check& check) {
  each_file(check, [&](const calbin::PackageFile& file, const FileFacts& facts, const std::string& pointer) {
    if (facts.state != FileState::kUnsafePath) return;
    check.report(pointer + "/path",
                 {fmt::format("the path of file '{}' may leave the package: {}", file.id, facts.why),
                  Value(file.path).describe(), "a plain relative path without links inside the package",
                  "name the file by its place below calbin.json; nothing was opened"});
  });
  const auto links = links_of(*check.facts().tree);
  for (const TreeEntry& entry : check.facts().tree->entries())
    if (leaves(entry.path) || lies_behind(entry.path, links))
      check.report_in(entry.path, {}, 0,
                      {"a member of the archive would be unpacked outside the package", Value(entry.path).describe(),
                       "plain relative paths inside the package, none of them through a link",
                       "pack the archive again from the package's folder"},
                      check.rule().severity);
}

/// What some file systems take for one name: case of ASCII letters aside, and composed.
std::string fold(const std::string& path) {
  return lower(invalid_utf8_at(path) == std::string_view::npos ? nfc(path) : path);
}

void check_not_regular(Check& check) {
  each_file(check, [&](const calbin::PackageFile& file, const FileFacts& facts, const std::string& pointer) {
    if (facts.state == FileState::kNotRegular)
      return check.report(pointer, {fmt::format("listed file '{}' is no regular file", file.path), facts.why,
                                    "a regular file", "put the file itself into the package; nothing was opened"});
    if (facts.state == FileState::kPresent && facts.links > 1)
      check.warn(pointer, {fmt::format("listed file '{}' is known by other names too", file.path),
                           fmt::format("{} links", facts.links), "1 link",
                           "copy the file: who writes through the other name changes the package"});
  });
}

void check_input_unstable(Check& check) {
  for (const auto& [path, digest] : check.facts().digests)
    if (!digest.changed.empty())
      check.report_in(path, {}, 0,
                      {fmt::format("'{}' changed while it was read", path), digest.changed,
                       "a package at rest: same file, same size, same time, from the first look to the last byte",
                       "wait until whoever writes it is done, then run again"},
                      check.rule().severity);
}

using Folded = std::map<std::string, std::string, std::less<>>;  // folded path -> path

/// The folders of the listed files; those longer than any system can unpack are left out.
Folded folders_of(const Folded& files) {
  constexpr std::size_t kLongest = 4096;
  std::set<std::string, std::less<>> seen;
  Folded out;
  for (const auto& [folded, path] : files) {
    if (path.size() > kLongest) continue;
    for (auto at = path.rfind('/'); at != std::string::npos && at > 0; at = path.rfind('/', at - 1)) {
      if (!seen.insert(path.substr(0, at)).second) break;
      out.emplace(fold(path.substr(0, at)), path.substr(0, at));
    }
  }
  return out;
}

/// The listed file that this path lies below, though it is there as a file.
const std::string* file_above(const FileTree& tree, const Folded& files, std::string_view folded) {
  for (auto at = folded.find('/'); at != std::string_view::npos; at = folded.find('/', at + 1)) {
    const auto file = files.find(folded.substr(0, at));
    if (file == files.end()) continue;
    const TreeEntry* there = tree.find(file->second);
    if (there != nullptr && there->kind == EntryKind::kFile) return &file->second;
  }
  return nullptr;
}

/// What is not listed is unpacked all the same, and may take the place of what is.
void check_unlisted_collisions(Check& check, Folded files) {
  const FileTree& tree = *check.facts().tree;
  std::set<std::string, std::less<>> listed{check.facts().file};
  for (const auto& file : check.d().files) listed.insert(file.path);
  files.emplace(fold(check.facts().file), check.facts().file);
  const Folded folders = folders_of(files);
  for (const TreeEntry& entry : tree.entries()) {
    if (listed.contains(entry.path) || entry.kind == EntryKind::kFolder) continue;
    const std::string folded = fold(entry.path);
    const std::string* other = file_above(tree, files, folded);
    if (const auto at = files.find(folded); at != files.end()) other = &at->second;
    if (const auto at = folders.find(folded); at != folders.end() && entry.kind == EntryKind::kFile)
      other = &at->second;
    if (other != nullptr)
      check.report_in(
          entry.path, {}, 0,
          {fmt::format("'{}', which is not listed, takes the place of '{}' on some systems", entry.path, *other),
           entry.path, "paths that differ in more than case or composition, each a file or a folder",
           "take it out, or rename it"},
          check.rule().severity);
  }
}

void check_path_collision(Check& check) {
  for (const TreeEntry& entry : check.facts().tree->entries())
    if (entry.copies > 1)
      check.report_in(
          entry.path, {}, 0,
          {fmt::format("the archive holds '{}' more than once", entry.path), fmt::format("{} members", entry.copies),
           "each path once", "pack the archive anew; what was appended replaces what was there"},
          check.rule().severity);
  Folded first;
  each_file(check, [&](const calbin::PackageFile& file, const FileFacts&, const std::string& pointer) {
    const auto [at, added] = first.emplace(fold(file.path), file.path);
    if (!added)
      check.report(pointer + "/path",
                   {fmt::format("'{}' and '{}' are one file on some systems", at->second, file.path), file.path,
                    "paths that differ in more than case or composition, each once", "rename one of them"});
  });
  each_file(check, [&](const calbin::PackageFile& file, const FileFacts&, const std::string& pointer) {
    std::string above;
    for (const std::string& part : split(fold(file.path), '/')) {
      if (const auto at = first.find(above); at != first.end())
        check.report(pointer + "/path", {fmt::format("'{}' lies below '{}', which is a file", file.path, at->second),
                                         file.path, "a path is a file or a folder", "rename one of them"});
      above += (above.empty() ? "" : "/") + part;
    }
  });
  check_unlisted_collisions(check, first);
}

void check_empty_file(Check& check) {
  each_file(check, [&](const calbin::PackageFile& file, const FileFacts&, const std::string& pointer) {
    if (file.size != 0 || file.role == "log") return;
    check.report(pointer + "/size",
                 {fmt::format("{} file '{}' is listed as empty", file.role, file.path), "0 B",
                  "at least 1 B (only logs may be empty)", "pack it again; the producer wrote nothing"});
  });
}

void check_digest_format(Check& check) {
  for (const auto& problem : check.facts().reading.problems) {
    const calbin::ProblemKind kind = problem.kind;
    const Check::Said said{fmt::format("{} is no SHA-256 digest in our form", problem.pointer), problem.found,
                           problem.allowed, problem.hint.empty() ? "write the hex digits in lower case" : problem.hint};
    if (kind == calbin::ProblemKind::kDigest) check.report(problem.pointer, said);
    if (kind == calbin::ProblemKind::kDigestCase) check.warn(problem.pointer, said);
  }
}

}  // namespace

std::vector<Rule> file_rules() {
  return {
      {{"CB0101", "file-missing", Severity::kBlocker, RuleClass::kMalformed, "every listed file is there", "8a"},
       {kFilePlace, "/files/*/optional"},
       &check_file_missing},
      {{"CB0102", "size-mismatch", Severity::kBlocker, RuleClass::kInvalid, "every listed file has its listed size",
        "8a"},
       {kFilePlace, "/files/*/size"},
       &check_file_size},
      {{"CB0103", "hash-mismatch", Severity::kBlocker, RuleClass::kInvalid,
        "every listed file has its listed SHA-256, and the description its seal", "8a"},
       {kFilePlace, "/files/*/size,digest"},
       &check_file_hash},
      {{"CB0104", "unlisted-file", Severity::kWarning, RuleClass::kPolicy, "every file of the package is listed", "8a"},
       {kFilePlace},
       &check_unlisted_file},
      {{"CB0105", "path-escape", Severity::kBlocker, RuleClass::kMalformed, "listed paths stay inside the package",
        "8a"},
       {kFilePlace},
       &check_path_escape},
      {{"CB0106", "path-collision", Severity::kError, RuleClass::kInvalid,
        "listed paths name different files on every file system", "8a"},
       {kFilePlace},
       &check_path_collision},
      {{"CB0107", "not-regular-file", Severity::kError, RuleClass::kMalformed,
        "every listed file is a regular file with one name", "8a", Maturity::kPreview},
       {kFilePlace},
       &check_not_regular},
      {{"CB0108", "empty-file", Severity::kError, RuleClass::kInvalid, "no listed file is empty, logs excepted", "8a"},
       {"/files/*/role,size"},
       &check_empty_file},
      {{"CB0109", "digest-format", Severity::kError, RuleClass::kMalformed, "digests are sha256: and 64 hex digits",
        "8a"},
       {},
       &check_digest_format},
      {{"CB0110", "input-unstable", Severity::kError, RuleClass::kInvalid, "no file changes while it is read", "8a",
        Maturity::kPreview},
       {},
       &check_input_unstable},
  };
}

}  // namespace calkit::lint
