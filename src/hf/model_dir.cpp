#include "model_dir.h"

#include <fmt/format.h>

#include <algorithm>

#include "download_record.h"

namespace calkit::hf {
namespace {

namespace fs = std::filesystem;

// Where a link of a snapshot leads: out of the subfolders, out of `snapshots/<revision>`.
fs::path blob_link(std::string_view name, const std::string& blob) {
  std::string up;
  for (const char c : name) up += c == '/' ? "../" : "";
  return up + "../../blobs/" + blob;
}

}  // namespace

Result<ModelDir> ModelDir::open(const fs::path& dir) {
  CALKIT_TRY(Root root, Root::open(dir), "opening the model folder");
  ModelDir out(std::move(root));
  std::error_code ignored;
  const fs::path real = fs::canonical(dir, ignored);
  if (!ignored && real.parent_path().filename() == "snapshots") {
    const fs::path blobs = real.parent_path().parent_path() / "blobs";
    if (fs::is_directory(fs::symlink_status(blobs, ignored))) {
      CALKIT_TRY(Root blobs_root, Root::open(blobs), "opening the cache's blobs folder");
      out.blobs_ = std::make_shared<Root>(std::move(blobs_root));
    }
  }
  return out;
}

std::string ModelDir::shown(std::string_view name) const {
  return (files_->path() / name).string();
}

bool ModelDir::has(std::string_view name) const {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(files_->path() / name, ignored));
}

Result<ModelDir::Place> ModelDir::locate(std::string_view name) const {
  std::error_code failed;
  const fs::path path = files_->path() / name;
  if (!fs::is_symlink(fs::symlink_status(path, failed))) return Place{files_.get(), std::string(name)};
  const fs::path target = fs::read_symlink(path, failed);
  const std::string blob = target.filename().string();
  if (failed || !blobs_ || target != blob_link(name, blob) || !is_blob_name(blob))
    return input_error(shown(name), {}, fmt::format("a symlink to '{}'", target.string()),
                       "a plain file, or ../../blobs/<digest> inside a Hugging Face cache snapshot",
                       "copy the model folder with links resolved (cp -rL)");
  if (!fs::exists(fs::symlink_status(blobs_->path() / blob, failed)))
    return input_error(shown(name), {}, fmt::format("a symlink to '{}', which is not there", target.string()),
                       "a blob of the cache", "the download is not complete; fetch the model again");
  return Place{blobs_.get(), blob};
}

Result<std::optional<std::string>> ModelDir::blob_of(std::string_view name) const {
  CALKIT_TRY(const Place place, locate(name));
  return place.root == blobs_.get() ? std::optional(place.name) : std::nullopt;
}

Result<std::string> ModelDir::read(std::string_view name, std::uint64_t max_bytes) const {
  CALKIT_TRY(const Place place, locate(name));
  return place.root->read(place.name, max_bytes);
}

Result<std::shared_ptr<const MappedFile>> ModelDir::map(std::string_view name) const {
  CALKIT_TRY(const Place place, locate(name));
  return place.root->map(place.name);
}

std::vector<std::string> ModelDir::names(std::string_view folder) const {
  std::vector<std::string> out;
  std::error_code failed;
  for (fs::directory_iterator it(files_->path() / folder, failed), end; !failed && it != end; it.increment(failed))
    out.push_back(it->path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace calkit::hf
