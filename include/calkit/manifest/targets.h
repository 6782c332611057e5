#pragma once
/// Product targets (what the product must serve) and the device profile (what one device offers).
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calkit/base/document.h"

namespace calkit::manifest {

/// Recorded from triage on, in every document that depends on them.
struct ProductTargets {
  std::int64_t context = 4096;     ///< tokens per sequence
  std::int64_t batch = 1;          ///< sequences per step
  std::string kv_dtype = "bf16";   ///< "bf16" or "f32"
  std::string source = "default";  ///< "default", "flags", or the project file's name
};
Value to_value(const ProductTargets& targets);
Result<ProductTargets> parse_targets(const Cursor& at);
/// A project file: YAML `schema: calkit.project/1` with `targets: {context, batch, kv_dtype}`.
Result<ProductTargets> read_project(const std::filesystem::path& path);

/// manifests/devices/*.yaml, schema calkit.device-profile/1.
struct DeviceProfile {
  std::string name;
  bool assumed = true;  ///< not stated by the vendor
  std::int64_t chiplets = 0;
  std::uint64_t dram_bytes = 0;   ///< per chiplet
  std::uint64_t guard_bytes = 0;  ///< allocator guard per chiplet
  std::uint64_t usable_bytes() const { return dram_bytes - guard_bytes; }
};
Result<DeviceProfile> read_device_profile(const std::filesystem::path& path);
/// The profile built into the library (manifests/devices/calculet-assumed.yaml).
Result<DeviceProfile> default_device_profile();

}  // namespace calkit::manifest
