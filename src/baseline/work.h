#pragma once
/// Answers of an unfinished freeze: `.NAME.calkit-work/<key>/<prompt>.npz` beside the folder that is to be written.
#include <filesystem>
#include <string>

#include "calkit/frozen/baseline.h"

namespace calkit::baseline {

class WorkFolder {
 public:
  /// @param key digest of all that an answer depends on beside its prompt.
  WorkFolder(const std::filesystem::path& out, const std::string& key);
  /// Fills logits and greedy steps if this prompt was answered before. A file that is damaged counts as none.
  bool load(frozen::ReferenceItem& item, int greedy_steps, std::int64_t vocab, bool routed) const;
  Status save(const frozen::ReferenceItem& item) const;
  /// The freeze is whole: nothing of the work is needed any more, that of earlier inputs neither.
  void remove() const;

 private:
  std::filesystem::path file_of(const frozen::ReferenceItem& item) const;
  std::filesystem::path root_, folder_;
};

/// "sha256" over the prompt and its ids.
std::string prompt_digest(const frozen::ReferenceItem& item);

}  // namespace calkit::baseline
