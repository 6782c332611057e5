#pragma once
/// The files of a model folder, whatever they hold: listed, read and hashed without leaving the folder.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/base/hash.h"
#include "calkit/base/result.h"

namespace calkit::hf {

class ModelFiles {
 public:
  /// kInput: no such folder. The symlinks of a Hugging Face cache snapshot are followed, others are refused when read.
  static Result<ModelFiles> open(const std::filesystem::path& dir);
  ~ModelFiles();
  ModelFiles(ModelFiles&&) noexcept;
  ModelFiles& operator=(ModelFiles&&) noexcept;

  /// Names of the files directly in the folder, and of the templates `additional_chat_templates/NAME.jinja`; sorted by
  /// bytes.
  const std::vector<std::string>& names() const;
  /// Names of its other subfolders: they are no part of a checkpoint.
  const std::vector<std::string>& folders() const;
  bool has(std::string_view name) const;
  std::string shown(std::string_view name) const;  ///< "DIR/NAME", for messages
  Result<std::string> read(std::string_view name, std::uint64_t max_bytes = 256ull << 20) const;
  /// Reads each byte once, letting pages go on the way. kInterrupted: a signal came. kInput: content that is not what
  /// the name of its blob in a Hugging Face cache says, or its download record; nothing is fetched for that.
  Result<FileDigest> hash(std::string_view name) const;
  /// SHA-256 over the lines "<sha256>  <name>\n" of all files in names() order: the digest of the whole checkpoint.
  Result<FileDigest> hash_all() const;

 private:
  struct State;
  explicit ModelFiles(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

inline constexpr std::string_view kTemplateFolder = "additional_chat_templates";

/// What a folder itself says of where it came from.
struct HubIdentity {
  std::optional<std::string> repository, revision;
  std::string source;              ///< which file or layout says so
  std::vector<std::string> notes;  ///< records beside it that say otherwise
};
/// Read from the layout of a Hugging Face cache (models--ORG--NAME/snapshots/REVISION), or from the download records
/// that `huggingface-cli download --local-dir` leaves (.cache/huggingface/download/*.metadata; revision only).
std::optional<HubIdentity> hub_identity(const std::filesystem::path& dir);

}  // namespace calkit::hf
