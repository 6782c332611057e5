#include "git_blob.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

namespace calkit::hf {

struct GitBlobHash::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  State() { EVP_DigestInit_ex(context, EVP_sha1(), nullptr); }
  ~State() { EVP_MD_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

GitBlobHash::GitBlobHash(std::uint64_t bytes) : state_(std::make_unique<State>()) {
  const std::string head = fmt::format("blob {}", bytes);
  update(std::as_bytes(std::span(head.c_str(), head.size() + 1)));  // with its NUL
}
GitBlobHash::~GitBlobHash() = default;

void GitBlobHash::update(std::span<const std::byte> bytes) {
  EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
}

std::string GitBlobHash::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  EVP_DigestFinal_ex(state_->context, digest.data(), &length);
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace calkit::hf
