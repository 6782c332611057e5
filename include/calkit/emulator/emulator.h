#pragma once
/// The emulated device: a backend of calkit/abi/device_v1.h that executes a package's op lists on the CPU.
/// It reads calbin.json, op lists, I/O maps and parameter blocks and nothing else: addresses, layouts and CSRs decide
/// what is computed. Its times are the host's; it says `emulated` and has no runtime, driver, firmware or telemetry to
/// tell. Limits: one package and one job in flight per device; each submodel runs on one chip; submodels of type
/// prefill and decode.
#include <cstdint>

#include "calkit/abi/device_v1.h"

namespace calkit::emulator {

/// The backend's entry point, of type calkit_device_entry_v1.
const calkit_device_api_v1* entry(std::uint32_t abi_version) noexcept;

}  // namespace calkit::emulator
