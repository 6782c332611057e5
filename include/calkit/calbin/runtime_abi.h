#pragma once

namespace calkit::calbin {

/// The runtime ABI that the emulated device speaks, and that `pack` writes packages for.
inline constexpr const char* kEmulatedRuntimeAbi = "0.7.6";

}  // namespace calkit::calbin
