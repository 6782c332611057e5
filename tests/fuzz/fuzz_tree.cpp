// A package as .tar or .tar.zst: the directory of the archive, its files and their digests. No unsafe path can be read,
// no more bytes come out than the limits allow, and reading, mapping and hashing agree.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "calkit/base/hash.h"
#include "calkit/base/tree.h"
#include "scratch_file.h"

namespace {

using calkit::EntryKind;
using calkit::FileTree;

constexpr std::uint64_t kMost = 1 << 20;

void look_at(const FileTree& tree, const calkit::TreeEntry& entry, const calkit::TreeDigests& digests) {
  const auto text = tree.read(entry.path, kMost);
  const auto map = tree.map(entry.path);
  if (text.ok() != map.ok()) std::abort();
  if (!text.ok()) return;
  if (!calkit::unsafe_path_reason(entry.path).empty()) std::abort();
  if (text->size() != (*map)->size() || text->size() > kMost) std::abort();
  const auto digest = digests.find(entry.path);
  if (digest == digests.end()) std::abort();
  if (!digest->second.sha256.empty() && digest->second.sha256 != calkit::sha256_hex(*text)) std::abort();
}

/// A mutation breaks the checksum of the header it is in, and the reader would look no further. Inputs of even size
/// have theirs put right.
std::string repaired(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kBlock = 512, kChecksum = 148, kMagic = 257;
  std::string out(reinterpret_cast<const char*>(data), size);
  if (size % 2 != 0) return out;
  for (std::size_t at = 0; at + kBlock <= size; at += kBlock) {
    if (out.compare(at + kMagic, 5, "ustar") != 0) continue;
    out.replace(at + kChecksum, 8, 8, ' ');
    unsigned sum = 0;
    for (std::size_t i = 0; i < kBlock; ++i) sum += static_cast<std::uint8_t>(out[at + i]);
    for (std::size_t digit = 0; digit < 6; ++digit) {
      out[at + kChecksum + 5 - digit] = static_cast<char>('0' + sum % 8);
      sum /= 8;
    }
    out[at + kChecksum + 6] = '\0';
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input = repaired(data, size);
  const auto tree = FileTree::open(calkit::fuzz::as_file(reinterpret_cast<const std::uint8_t*>(input.data()), size),
                                   {.limits = {.max_entries = 100, .max_bytes = kMost}, .progress = {}});
  if (!tree.ok()) return 0;
  const auto digests = tree->hash_all({.threads = 1, .progress = {}});
  if (!digests.ok()) std::abort();
  std::string before;
  for (const auto& entry : tree->entries()) {
    if (entry.path < before) std::abort();
    before = entry.path;
    if (tree->find(entry.path) == nullptr) std::abort();
    if (entry.kind == EntryKind::kFile) look_at(*tree, entry, *digests);
  }
  static_cast<void>(calkit::tree_digest(*tree, *digests).ok());
  return 0;
}
