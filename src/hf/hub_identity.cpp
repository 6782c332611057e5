#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/files.h"
#include "calkit/base/text.h"
#include "calkit/hf/model_files.h"

namespace calkit::hf {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRevisionDigits = 40, kMaxRecord = 64 * 1024;

bool is_revision(std::string_view text) {
  const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == kRevisionDigits && std::all_of(text.begin(), text.end(), hex);
}

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

// Line 1 of each record is the commit that the file came from.
std::optional<HubIdentity> identity_of_records(const fs::path& dir) {
  const std::string folder = ".cache/huggingface/download";
  const std::string record = folder + "/config.json.metadata";
  const auto text = read_file(dir / record, kMaxRecord);
  if (!text.ok() || !is_revision(first_line(*text))) return std::nullopt;
  HubIdentity out{std::nullopt, first_line(*text), record, {}};
  std::error_code failed;
  std::vector<std::string> others;
  for (fs::directory_iterator it(dir / folder, failed), end; !failed && it != end; it.increment(failed)) {
    const std::string name = it->path().filename().string();
    if (!name.ends_with(".metadata")) continue;
    const auto other = read_file(it->path(), kMaxRecord);
    if (other.ok() && first_line(*other) != *out.revision) others.push_back(name);
  }
  std::sort(others.begin(), others.end());
  for (const std::string& name : others)
    out.notes.push_back(
        fmt::format("{}/{} names another revision than config.json's record, which counts", folder, name));
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
