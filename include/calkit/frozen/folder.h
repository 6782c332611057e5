#pragma once
/// Which kind of sealed folder lies somewhere, and the check of those that are no baseline.
#include <filesystem>
#include <string_view>

#include "calkit/frozen/baseline.h"

namespace calkit::frozen {

enum class FolderKind {
  kBaseline,  ///< everything that is none of the others; verify() says what it lacks
  kStore,
  kNumbers,  ///< `freeze-baseline reference --dump`
  kTexts,    ///< `freeze-baseline reference --server`
  kProduct,  ///< `freeze-baseline product`
};
FolderKind folder_kind(const std::filesystem::path& dir);
/// "baseline", "store", "reference of numbers", "reference of texts", "product baseline".
std::string_view folder_kind_name(FolderKind kind);

/// A reference or product baseline: SHA256SUMS, and that its documents can be read. There is no model source in it, so
/// nothing is encoded again.
Result<VerifyReport> verify_sealed(const std::filesystem::path& dir, FolderKind kind);

}  // namespace calkit::frozen
