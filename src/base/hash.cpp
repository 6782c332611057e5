#include "calkit/base/hash.h"

#include <openssl/evp.h>

#include <array>
#include <string>

#include "calkit/base/files.h"
#include "calkit/base/tree.h"
#include "fd.h"

namespace calkit {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  State() { EVP_DigestInit_ex(context, EVP_sha256(), nullptr); }
  ~State() { EVP_MD_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::span<const std::byte> bytes) {
  EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
}
void Sha256::update(std::string_view text) {
  update(std::as_bytes(std::span(text)));
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  EVP_DigestFinal_ex(state_->context, digest.data(), &length);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * length);
  for (unsigned i = 0; i < length; ++i) {
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  Sha256 sha;
  sha.update(bytes);
  return sha.hex();
}
std::string sha256_hex(std::string_view text) {
  return sha256_hex(std::as_bytes(std::span(text)));
}

namespace {
/// Collects what a chunked reader hands over.
struct Digester {
  Sha256 sha;
  std::uint64_t bytes = 0;
  Status operator()(std::span<const std::byte> chunk) {
    sha.update(chunk);
    bytes += chunk.size();
    return {};
  }
};
}  // namespace

Result<FileDigest> hash_file(const std::filesystem::path& path) {
  CALKIT_TRY(const Fd fd, open_regular(path));
  Digester digester;
  CALKIT_CHECK_OK(read_chunks(fd.get(), path.string(), std::ref(digester)));
  return FileDigest{digester.sha.hex(), digester.bytes};
}

Result<FileDigest> hash_file(const Root& root, std::string_view relative) {
  Digester digester;
  CALKIT_CHECK_OK(root.read_chunks(relative, std::ref(digester)));
  return FileDigest{digester.sha.hex(), digester.bytes};
}

Result<FileDigest> hash_tree(const std::filesystem::path& dir) {
  CALKIT_TRY(const auto tree, FileTree::open(dir));
  CALKIT_TRY(const auto digests, tree.hash_all({}));
  return tree_digest(tree, digests);
}

}  // namespace calkit
