#pragma once
// Where the first zstd frame of a file ends: a bundle is one frame and nothing else.
#include <cstdint>
#include <filesystem>

#include "calkit/base/result.h"

namespace calkit::bundle {

/// Walks the headers of the frame's blocks (RFC 8878); decompresses nothing. kInput: no zstd frame, or one cut off.
Result<std::uint64_t> first_frame_bytes(const std::filesystem::path& file);

}  // namespace calkit::bundle
