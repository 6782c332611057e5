#pragma once
/// Which runtimes, drivers and firmwares run packages of which device: manifests/support/*.yaml, schema
/// calkit.support/1 (docs/formats/support.md).
#include <filesystem>
#include <string>
#include <vector>

#include "calkit/base/result.h"
#include "calkit/manifest/version_range.h"

namespace calkit::manifest {

/// The ranges a package or a row states, as texts; `device` is an exact name or "any".
struct SupportKey {
  std::string runtime_abi, driver, firmware, device;
};
struct SupportRow {
  SupportKey key;
  bool supported = false;
  std::string reason;  ///< why it is, or is not; never empty
};
struct SupportMatrix {
  std::string source;  ///< the file, for messages
  std::vector<SupportRow> rows;

  /// The first row that speaks of this runtime and may speak of a package with these ranges; nullptr: none does.
  const SupportRow* find(const Version& runtime, const SupportKey& package) const;
};
/// kInput: schema, unknown keys, a text that is no version range, an empty reason, no rows.
Result<SupportMatrix> read_support_matrix(const std::filesystem::path& path);
/// The matrix built into the library (manifests/support/emulated.yaml).
const Result<SupportMatrix>& default_support_matrix();

}  // namespace calkit::manifest
