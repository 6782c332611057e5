#include "calkit/hf/model_files.h"

#include <algorithm>

#include "calkit/base/process.h"
#include "model_dir.h"

namespace calkit::hf {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kChunk = 8ull << 20;
constexpr std::size_t kRevisionDigits = 40;

bool is_revision(std::string_view text) {
  const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == kRevisionDigits && std::all_of(text.begin(), text.end(), hex);
}

// "models--ORG--NAME" or "models--NAME".
std::optional<std::string> repository_of_cache(std::string_view folder) {
  constexpr std::string_view kPrefix = "models--", kSlash = "--";
  if (!folder.starts_with(kPrefix)) return std::nullopt;
  folder.remove_prefix(kPrefix.size());
  const std::size_t at = folder.find(kSlash);
  if (folder.empty() || at == std::string_view::npos) return std::nullopt;
  return std::string(folder.substr(0, at)) + "/" + std::string(folder.substr(at + kSlash.size()));
}

}  // namespace

struct ModelFiles::State {
  ModelDir dir;
  std::vector<std::string> names, folders;
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
    (folder ? state->folders : state->names).push_back(name);
  }
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
  CALKIT_TRY(const auto map, state_->dir.map(name));
  Sha256 sha;
  for (std::uint64_t at = 0; at < map->size(); at += kChunk) {
    if (interrupted()) return interrupted_error();
    const std::uint64_t length = std::min(kChunk, map->size() - at);
    sha.update(map->bytes().subspan(at, length));
    map->release(at, length);
  }
  return FileDigest{sha.hex(), map->size()};
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

std::optional<HubIdentity> hub_identity(const fs::path& dir) {
  std::error_code failed;
  const fs::path real = fs::canonical(dir, failed);
  if (failed) return std::nullopt;
  const std::string revision = real.filename().string();
  if (real.parent_path().filename() == "snapshots" && is_revision(revision))
    return HubIdentity{repository_of_cache(real.parent_path().parent_path().filename().string()), revision,
                       "layout of the Hugging Face cache"};
  // Line 1 of each record is the commit that the file came from.
  const std::string record = ".cache/huggingface/download/config.json.metadata";
  const auto text = read_file(real / record, 64 * 1024);
  if (!text.ok()) return std::nullopt;
  std::string line = text->substr(0, text->find('\n'));
  if (!is_revision(line)) return std::nullopt;
  return HubIdentity{std::nullopt, line, record};
}

}  // namespace calkit::hf
