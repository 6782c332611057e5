#pragma once
/// The name that git gives a file's content (private to hf): SHA-1 over "blob <bytes>\0" and the bytes.
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace calkit::hf {

class GitBlobHash {
 public:
  explicit GitBlobHash(std::uint64_t bytes);
  ~GitBlobHash();
  GitBlobHash(const GitBlobHash&) = delete;
  GitBlobHash& operator=(const GitBlobHash&) = delete;
  void update(std::span<const std::byte> bytes);
  std::string hex();  ///< 40 characters; ends the computation

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace calkit::hf
