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

/// What the control program of a chip must be; nullopt where nobody stated it.
struct ControlProgram {
  std::optional<std::string> machine;  ///< as in a package's ccu.machine: "riscv"
  std::optional<int> elf_class;        ///< 32 or 64
  std::optional<bool> little_endian;
  std::optional<std::uint64_t> flags;  ///< e_flags
  std::optional<std::string> type;     ///< "exec" or "dyn"
};

/// manifests/devices/*.yaml, schema calkit.device-profile/1.
struct DeviceProfile {
  std::string name;
  bool assumed = true;  ///< not stated by the vendor
  std::int64_t chiplets = 0;
  std::uint64_t dram_bytes = 0;            ///< per chiplet
  std::uint64_t guard_bytes = 0;           ///< allocator guard per chiplet
  std::optional<std::uint64_t> chip_mask;  ///< the chips of the board; nullopt: not stated
  ControlProgram ccu;
  std::uint64_t usable_bytes() const { return dram_bytes - guard_bytes; }
  /// The chips of the board; where nobody stated them, as many as there are chiplets, numbered from 0.
  std::uint64_t chips() const { return chip_mask.value_or(chiplets >= 64 ? ~0ull : (1ull << chiplets) - 1); }
};
Result<DeviceProfile> read_device_profile(const std::filesystem::path& path);
/// The profile built into the library (manifests/devices/calculet-assumed.yaml).
Result<DeviceProfile> default_device_profile();

}  // namespace calkit::manifest
