#include "calkit/hf/model_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/process.h"
#include "download_record.h"
#include "git_blob.h"
#include "model_dir.h"

namespace calkit::hf {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kChunk = 8ull << 20;
constexpr std::size_t kGitDigits = 40;

// Who says what a file holds, and what it says.
struct Vouched {
  std::string digest;
  bool by_record = false;
};

Error other_content(const std::string& shown, std::string_view kind, const std::string& found, const Vouched& wanted) {
  const std::string content = fmt::format("content whose {} is {}", kind, found);
  if (wanted.by_record)
    return input_error(
        shown, {}, content, fmt::format("{}, the ETag of its download record", wanted.digest),
        fmt::format("the file was changed after the download: fetch it again, or delete its record in {} "
                    "if the change is meant",
                    kRecordFolder));
  return input_error(shown, {}, content,
                     fmt::format("{}, the name of its blob in the Hugging Face cache", wanted.digest),
                     "the cache is damaged or was changed by hand; delete the blob and fetch the model again");
}

bool is_template(const std::string& name) {
  return name.ends_with(".jinja") && !name.starts_with('.');
}

}  // namespace

struct ModelFiles::State {
  ModelDir dir;
  std::vector<std::string> names, folders;

  Result<std::optional<Vouched>> vouched(std::string_view name) const {
    CALKIT_TRY(const auto blob, dir.blob_of(name));
    if (blob) return std::optional(Vouched{*blob});
    const auto record = read_download_record(dir.path(), name);
    if (!record || !record->content) return std::optional<Vouched>();
    return std::optional(Vouched{*record->content, true});
  }
};

ModelFiles::ModelFiles(std::unique_ptr<State> state) : state_(std::move(state)) {}
ModelFiles::~ModelFiles() = default;
ModelFiles::ModelFiles(ModelFiles&&) noexcept = default;
ModelFiles& ModelFiles::operator=(ModelFiles&&) noexcept = default;

Result<ModelFiles> ModelFiles::open(const fs::path& dir) {
  CALKIT_TRY(auto opened, ModelDir::open(dir));
  auto state = std::make_unique<State>(State{std::move(opened), {}, {}});
  for (const std::string& name : state->dir.names()) {
    std::error_code ignored;
    const bool folder = fs::is_directory(fs::symlink_status(dir / name, ignored));
    if (folder && name == kTemplateFolder) {
      for (const std::string& inner : state->dir.names(name))
        if (is_template(inner)) state->names.push_back(fmt::format("{}/{}", name, inner));
      continue;
    }
    (folder ? state->folders : state->names).push_back(name);
  }
  std::sort(state->names.begin(), state->names.end());
  return ModelFiles(std::move(state));
}

const std::vector<std::string>& ModelFiles::names() const {
  return state_->names;
}
const std::vector<std::string>& ModelFiles::folders() const {
  return state_->folders;
}
bool ModelFiles::has(std::string_view name) const {
  return std::binary_search(state_->names.begin(), state_->names.end(), name);
}
std::string ModelFiles::shown(std::string_view name) const {
  return state_->dir.shown(name);
}
Result<std::string> ModelFiles::read(std::string_view name, std::uint64_t max_bytes) const {
  return state_->dir.read(name, max_bytes);
}

Result<FileDigest> ModelFiles::hash(std::string_view name) const {
  CALKIT_TRY(const auto wanted, state_->vouched(name));
  CALKIT_TRY(const auto map, state_->dir.map(name));
  Sha256 sha;
  std::optional<GitBlobHash> git;
  if (wanted && wanted->digest.size() == kGitDigits) git.emplace(map->size());
  for (std::uint64_t at = 0; at < map->size(); at += kChunk) {
    if (interrupted()) return interrupted_error();
    const std::uint64_t length = std::min(kChunk, map->size() - at);
    sha.update(map->bytes().subspan(at, length));
    if (git) git->update(map->bytes().subspan(at, length));
    map->release(at, length);
  }
  const FileDigest digest{sha.hex(), map->size()};
  if (git) {
    if (const std::string found = git->hex(); found != wanted->digest)
      return other_content(shown(name), "git name", found, *wanted);
  } else if (wanted && digest.sha256 != wanted->digest) {
    return other_content(shown(name), "SHA-256", digest.sha256, *wanted);
  }
  return digest;
}

Result<FileDigest> ModelFiles::hash_all() const {
  Sha256 sha;
  FileDigest all;
  for (const std::string& name : names()) {
    CALKIT_TRY(const auto digest, hash(name), "hashing " + name);
    sha.update(digest.sha256 + "  " + name + "\n");
    all.bytes += digest.bytes;
  }
  all.sha256 = sha.hex();
  return all;
}

}  // namespace calkit::hf
