#pragma once
/// How much memory a zstd stream asks for, told before anything is unpacked.
#include <cstdint>

#include "calkit/base/result.h"

namespace calkit {

/// The largest window of the frames in a packed file of `size` bytes (RFC 8878, section 3.1.1): a decoder allocates as
/// much. Walks frame and block headers; stops quietly at what is no frame, which the decoder then reports.
std::uint64_t largest_zstd_window(int fd, std::uint64_t size);

/// kInput when the window is larger than 8 MiB + 64 times the packed bytes: a few bytes must not claim 128 MiB.
Status check_zstd_window(int fd, std::uint64_t size, const std::string& name);

}  // namespace calkit
