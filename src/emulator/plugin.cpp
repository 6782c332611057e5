// The emulated device as a plug-in: the same backend, reached the way a board's shim is.
#include "calkit/emulator/emulator.h"

extern "C" __attribute__((visibility("default"))) const calkit_device_api_v1* calkit_device_entry(
    std::uint32_t abi_version) {
  return calkit::emulator::entry(abi_version);
}
