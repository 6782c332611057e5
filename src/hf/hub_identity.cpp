#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/files.h"
#include "calkit/base/text.h"
#include "calkit/hf/model_files.h"
#include "download_record.h"

namespace calkit::hf {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxRecord = 64 * 1024;

std::string first_line(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return line;
}

// "models--ORG--NAME" or "models--NAME".
std::optional<std::string> repository_of(std::string_view folder) {
  constexpr std::string_view kPrefix = "models--", kSlash = "--";
  if (!folder.starts_with(kPrefix)) return std::nullopt;
  folder.remove_prefix(kPrefix.size());
  const std::size_t at = folder.find(kSlash);
  if (folder.empty() || at == 0) return std::nullopt;
  if (at == std::string_view::npos) return std::string(folder);
  return std::string(folder.substr(0, at)) + "/" + std::string(folder.substr(at + kSlash.size()));
}

// A link leads to a blob whose name is a digest of its content; a plain file may hold anything.
void note_plain_files(const fs::path& snapshot, std::vector<std::string>& notes) {
  std::error_code failed;
  std::vector<std::string> names;
  for (fs::directory_iterator it(snapshot, failed), end; !failed && it != end; it.increment(failed)) {
    std::error_code ignored;
    if (fs::is_regular_file(it->symlink_status(ignored))) names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names)
    notes.push_back(fmt::format(
        "{} is a plain file in a snapshot of the Hugging Face cache: nothing there shows that it is of this revision",
        printable(name)));
}

HubIdentity identity_of_cache(const fs::path& snapshot, const std::string& revision) {
  const fs::path cache = snapshot.parent_path().parent_path();
  HubIdentity out{repository_of(cache.filename().string()), revision, "layout of the Hugging Face cache", {}};
  note_plain_files(snapshot, out.notes);
  const auto main = read_file(cache / "refs/main", kMaxRecord);
  if (main.ok() && first_line(*main) != revision)
    out.notes.push_back(fmt::format("this snapshot is revision {}, the cache's refs/main names {}; the snapshot counts",
                                    revision, is_revision(first_line(*main)) ? first_line(*main) : "no revision"));
  return out;
}

// Every file that was downloaded has a record of its commit; config.json's counts.
std::optional<HubIdentity> identity_of_records(const fs::path& dir) {
  const auto config = read_download_record(dir, "config.json");
  if (!config || !is_revision(config->revision)) return std::nullopt;
  HubIdentity out{std::nullopt, config->revision, fmt::format("{}/config.json{}", kRecordFolder, kRecordEnding), {}};
  const auto files = ModelFiles::open(dir);
  if (!files.ok()) return out;
  for (const std::string& name : files->names()) {
    if (name.starts_with('.')) continue;
    const auto record = read_download_record(dir, name);
    const std::string shown = printable(name);
    if (!record)
      out.notes.push_back(
          fmt::format("{} has no download record: nothing there shows that it is of this revision", shown));
    else if (record->revision != *out.revision)
      out.notes.push_back(fmt::format("{}/{}{} names another revision than config.json's record, which counts",
                                      kRecordFolder, shown, kRecordEnding));
    else if (!record->content)
      out.notes.push_back(
          fmt::format("the ETag in the download record of {} is no digest: its content is not checked "
                      "against it",
                      shown));
  }
  return out;
}

}  // namespace

std::optional<HubIdentity> hub_identity(const fs::path& dir) {
  std::error_code failed;
  const fs::path real = fs::canonical(dir, failed);
  if (failed) return std::nullopt;
  const std::string revision = real.filename().string();
  if (real.parent_path().filename() == "snapshots" && is_revision(revision)) return identity_of_cache(real, revision);
  return identity_of_records(real);
}

}  // namespace calkit::hf
