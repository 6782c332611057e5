#pragma once
/// A store of frozen baselines by content: a file that several of them share lies there once.
///   blobs/sha256/<hex>    one file's bytes, named by their digest
///   baselines/<hex>       one baseline's SHA256SUMS, named by the digest of that list: name -> blob
#include <cstdint>
#include <filesystem>
#include <string>

#include "calkit/frozen/baseline.h"

namespace calkit::frozen {

struct KeepReport {
  std::string digest;  ///< of SHA256SUMS: the baseline's name in the store
  std::uint64_t files = 0, blobs_added = 0, bytes_added = 0;
  std::uint64_t blobs_repaired = 0;  ///< of those added: were there, damaged
};
/// Copies what the store lacks, hashing what it has and replacing what is damaged. kInput: the baseline's files are not
/// what its SHA256SUMS says, or one of the two folders lies in the other.
Result<KeepReport> keep(const std::filesystem::path& baseline, const std::filesystem::path& store);

/// Writes a kept baseline as the folder it was. @param digest at least 8 of its 64 digits.
/// kInput: none or several of that name, a blob that is missing or damaged, an `out` that may not be replaced (see
/// check_target in frozen/writer.h) or lies in the store.
Result<KeepReport> restore(const std::filesystem::path& store, const std::string& digest,
                           const std::filesystem::path& out);

/// True if the folder is laid out as a store.
bool is_store(const std::filesystem::path& dir);
/// Hashes every blob and list again. Findings: a name that is not the digest, a blob that a list lacks, one that no
/// list names. `prompts` of the report counts the baselines.
Result<VerifyReport> verify_store(const std::filesystem::path& store);

}  // namespace calkit::frozen
