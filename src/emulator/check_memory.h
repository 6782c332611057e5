#pragma once
/// Checks of the description's addresses: regions, parameters, I/O tensors, CSRs. Private to the emulator.
#include "calkit/calbin/package.h"

namespace calkit::emulator {

/// "0x1000 + 512 B".
std::string range_text(std::uint64_t base, std::uint64_t size);
/// nullptr: the description has no such chip.
const calbin::Chip* find_chip(const calbin::Description& description, std::int64_t id);

/// Bytes from row to row and from column to column; what a layout that states no strides means.
std::vector<std::uint64_t> row_major_strides(const calbin::IoTensor& io);

/// Regions lie on a chip, do not wrap, and no writable region touches a parameter region.
Status check_regions(const calbin::Description& description);
/// Parameters lie inside their file and region, match their shape and do not overlap.
Status check_params(const calbin::Description& description);
/// The KV region holds what context, slots and model facts ask for.
Status check_kv(const calbin::Description& description);
/// I/O tensors and CSRs lie inside their regions; layouts say what shapes and sizes say.
Status check_io(const calbin::Description& description, const calbin::Submodel& submodel);

}  // namespace calkit::emulator
