#pragma once
// Small checkpoints made by the tests.
#include <cstring>
#include <string>
#include <vector>

#include "calkit/hf/checkpoint.h"
#include "scratch_dir.h"

namespace calkit::hf {

/// A safetensors file: length word, this header, this data.
inline std::string safetensors_file(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, sizeof length);
  return out + header + data;
}

/// What parse_safetensors says to it: "accepted", or the message and the hint.
inline std::string answer(const std::string& bytes) {
  const auto parsed = parse_safetensors(std::as_bytes(std::span(bytes)), "x.safetensors");
  return parsed.ok() ? "accepted" : parsed.error().message + " | " + parsed.error().hint;
}

inline std::string message_of(const Status& status) {
  return status.ok() ? "accepted" : status.error().message;
}
template <class T>
std::string message_of(const Result<T>& result) {
  return result.ok() ? "accepted" : result.error().message;
}

}  // namespace calkit::hf
