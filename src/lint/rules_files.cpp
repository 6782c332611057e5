/// Family 01: the listed files are there, are the ones that were listed, and stay inside the package.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "calkit/base/text.h"
#include "families.h"

namespace calkit::lint {

namespace {

template <class Visit>
void each_file(Check& check, Visit visit) {
  const auto& files = check.d().files;
  for (std::size_t i = 0; i < files.size(); ++i)
    if (const auto pointer = fmt::format("/files/{}", i); check.usable(pointer))
      visit(files[i], check.facts().files[i], pointer);
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return text;
}

void check_file_missing(Check& check) {
  each_file(check, [&](const calbin::PackageFile& file, const FileFacts& facts, const std::string& pointer) {
    if (facts.state == FileState::kNotRegular)
      return check.report(pointer, {fmt::format("listed file '{}' is no regular file", file.path), facts.why,
                                    "a regular file", "put the file itself into the package"});
    if (facts.state != FileState::kMissing) return;
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
    if (facts.state != FileState::kPresent || facts.bytes == file.size) return;
    check.report(pointer + "/size", {fmt::format("{} file '{}' has another size than listed", file.role, file.path),
                                     fmt::format("{} B on disk", facts.bytes), fmt::format("{} B", file.size),
                                     facts.bytes < file.size ? "the copy was cut short; copy the package again"
                                                             : "bytes were added; copy the package again"});
  });
}

void check_file_hash(Check& check) {
  std::map<std::string, std::string> hashed;  // an entry may be listed twice; its bytes are read once
  each_file(check, [&](const calbin::PackageFile& file, const FileFacts& facts, const std::string& pointer) {
    if (check.failure() || facts.state != FileState::kPresent || facts.bytes != file.size) return;
    auto found = hashed.find(file.path);
    if (found == hashed.end()) {
      auto digest = calbin::digest_of(*check.facts().root, file.path);
      if (!digest.ok()) {
        if (digest.error().kind == ErrorKind::kInterrupted) return check.fail_run(std::move(digest).error());
        return check.not_evaluated(fmt::format("{}: {}", file.path, digest.error().message));
      }
      found = hashed.emplace(file.path, std::move(digest).value()).first;
    }
    if (found->second != file.digest)
      check.report(pointer + "/digest",
                   {fmt::format("{} file '{}' is not the file that was listed", file.role, file.path), found->second,
                    file.digest, "the file was changed after packing; copy the package again, or pack it again"});
  });
}

void check_unlisted_file(Check& check) {
  namespace fs = std::filesystem;
  constexpr std::size_t kMaxEntries = 1000000;
  std::set<std::string> listed{kDescriptionFile};
  for (const auto& file : check.d().files) listed.insert(file.path);
  const fs::path& root = check.facts().inputs.package;
  std::vector<std::string> extra;
  std::error_code error;
  std::size_t seen = 0;
  for (fs::recursive_directory_iterator at(root, error), end; !error && at != end && ++seen < kMaxEntries;
       at.increment(error)) {
    const fs::file_status status = at->symlink_status(error);
    if (error) break;
    if (fs::is_directory(status)) continue;
    std::string path = at->path().lexically_relative(root).generic_string();
    const std::string name = lower(at->path().filename().string());
    if (listed.contains(path) || name.starts_with("readme") || name.starts_with("license")) continue;
    extra.push_back(std::move(path));
  }
  if (error) return check.not_evaluated(fmt::format("the folder could not be listed: {}", error.message()));
  if (seen >= kMaxEntries) check.left_out(fmt::format("only the first {} entries of the folder were looked at", seen));
  std::sort(extra.begin(), extra.end());
  for (const auto& path : extra)
    check.report_in(path, {}, 0,
                    {fmt::format("'{}' is in the package but not listed", path), "no entry in calbin.json#/files",
                     "every file of a package is listed with its hash", "list it, or take it out"},
                    Severity::kWarning);
}

void check_path_escape(Check& check) {
  each_file(check, [&](const calbin::PackageFile& file, const FileFacts& facts, const std::string& pointer) {
    if (facts.state != FileState::kUnsafePath) return;
    check.report(pointer + "/path",
                 {fmt::format("the path of file '{}' may leave the package: {}", file.id, facts.why),
                  Value(file.path).describe(), "a plain relative path without links inside the package",
                  "name the file by its place below calbin.json; nothing was opened"});
  });
}

void check_path_collision(Check& check) {
  std::map<std::string, std::string> first;  // folded path -> path
  each_file(check, [&](const calbin::PackageFile& file, const FileFacts&, const std::string& pointer) {
    const auto [at, added] = first.emplace(lower(file.path), file.path);
    if (!added)
      check.report(pointer + "/path",
                   {fmt::format("'{}' and '{}' are one file on some systems", at->second, file.path), file.path,
                    "paths that differ in more than case, each once", "rename one of them"});
  });
  each_file(check, [&](const calbin::PackageFile& file, const FileFacts&, const std::string& pointer) {
    std::string above;
    for (const std::string& part : split(lower(file.path), '/')) {
      if (const auto at = first.find(above); at != first.end())
        check.report(pointer + "/path", {fmt::format("'{}' lies below '{}', which is a file", file.path, at->second),
                                         file.path, "a path is a file or a folder", "rename one of them"});
      above += (above.empty() ? "" : "/") + part;
    }
  });
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
      {{"CB0103", "hash-mismatch", Severity::kBlocker, RuleClass::kInvalid, "every listed file has its listed SHA-256",
        "8a"},
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
      {{"CB0108", "empty-file", Severity::kError, RuleClass::kInvalid, "no listed file is empty, logs excepted", "8a"},
       {"/files/*/role,size"},
       &check_empty_file},
      {{"CB0109", "digest-format", Severity::kError, RuleClass::kMalformed, "digests are sha256: and 64 hex digits",
        "8a"},
       {},
       &check_digest_format},
  };
}

}  // namespace calkit::lint
