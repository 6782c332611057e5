#pragma once
/// SHA-256 through OpenSSL. Digests are written `sha256:<64 lower-case hex>` in documents, bare hex in sha256sum lists.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "calkit/base/result.h"

namespace calkit {

class Root;

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void update(std::span<const std::byte> bytes);
  void update(std::string_view text);
  std::string hex();  ///< 64 characters; ends the computation

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_hex(std::span<const std::byte> bytes);
std::string sha256_hex(std::string_view text);

struct FileDigest {
  std::string sha256;  ///< 64 hex
  std::uint64_t bytes = 0;
};
/// Hashes a regular file in bounded memory, each byte read once. kInput if it is no regular file, kIo if it cannot be
/// read.
Result<FileDigest> hash_file(const std::filesystem::path& path);
/// The same for a file inside a Root, which it cannot leave.
Result<FileDigest> hash_file(const Root& root, std::string_view relative);
/// A digest of a folder, or of an archive as if it were unpacked (calkit/base/tree.h): SHA-256 over sorted lines
/// "<sha256>  <relative path>\n" of all regular files under it. Several files are hashed at a time.
Result<FileDigest> hash_tree(const std::filesystem::path& dir);

}  // namespace calkit
