#pragma once
// What lies in a bundle, by path, and whether its parts belong together. Writer and verifier ask the same questions.
#include <map>
#include <string>
#include <vector>

#include "calkit/base/hash.h"
#include "calkit/base/result.h"

namespace calkit::bundle {

struct Index {
  std::map<std::string, FileDigest> files;   ///< path in the bundle -> digest
  std::map<std::string, std::string> texts;  ///< contents of the documents that is_document() names
};

/// Documents whose text the checks need; each is read up to kMaxDocument bytes.
bool is_document(const std::string& path);
inline constexpr std::uint64_t kMaxDocument = 64ull << 20;

/// SHA-256 over "<sha256>  <path>\n" of all files under `folder`/, paths relative to it: hash_tree of that folder.
std::string tree_digest(const Index& index, const std::string& folder);

/// Missing parts, a package whose files are not what calbin.json lists, a baseline that is not what its SHA256SUMS
/// lists, and parts of different models: one sentence each.
std::vector<std::string> check_parts(const Index& index);

}  // namespace calkit::bundle
