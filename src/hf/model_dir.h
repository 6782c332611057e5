#pragma once
/// The folder of a checkpoint, opened so that no file in it can lead elsewhere (private to hf).
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/base/files.h"

namespace calkit::hf {

/// Files are plain files in the folder. One symlink shape is followed, that of a Hugging Face cache:
/// `snapshots/<revision>/<file>` -> `../../blobs/<40 or 64 hex>`, one `../` more in a subfolder; any other is refused.
class ModelDir {
 public:
  static Result<ModelDir> open(const std::filesystem::path& dir);

  /// "DIR/NAME", for messages.
  std::string shown(std::string_view name) const;
  /// True if there is an entry of that name, whatever it is.
  bool has(std::string_view name) const;
  Result<std::string> read(std::string_view name, std::uint64_t max_bytes) const;
  Result<std::shared_ptr<const MappedFile>> map(std::string_view name) const;
  /// The digest in the name of the blob that a file of a cache snapshot links to: SHA-256 (64 digits) for what is
  /// stored in LFS, else git's name of the blob (40). Nullopt for a plain file; kInput for a link that is refused.
  Result<std::optional<std::string>> blob_of(std::string_view name) const;
  /// Names of all entries, of the folder or of a subfolder, sorted.
  std::vector<std::string> names(std::string_view folder = {}) const;
  const std::filesystem::path& path() const { return files_->path(); }

 private:
  struct Place {
    const Root* root = nullptr;
    std::string name;
  };
  explicit ModelDir(Root root) : files_(std::make_shared<Root>(std::move(root))) {}
  Result<Place> locate(std::string_view name) const;

  std::shared_ptr<Root> files_;
  std::shared_ptr<Root> blobs_;  ///< the cache's blobs folder, if this is a snapshot
};

}  // namespace calkit::hf
