#pragma once
/// The I/O map of one submodel on one chip: where the host finds its tensors and registers (JSON file of role "iomap",
/// schema calkit.iomap/1, docs/formats/calbin.md). It repeats what the description says, so the two can be compared.
#include <cstdint>
#include <string>
#include <vector>

#include "calkit/calbin/package.h"

namespace calkit::calbin {

struct IoMapRow {
  std::string kind, name;  ///< kind: input, output, csr
  std::uint64_t base = 0, size = 0;
  bool operator==(const IoMapRow&) const = default;
};
struct IoMap {
  std::string submodel;
  std::int64_t chip = 0;
  std::vector<IoMapRow> rows;
  bool operator==(const IoMap&) const = default;
};
Result<IoMap> parse_iomap(const Cursor& root);

/// A place where the map says something else than the description of its submodel.
struct IoMapFault {
  std::string pointer;  ///< in the map
  std::string what, found, allowed;
};
/// Everything that differs: each tensor of the chip and, in the submodel's first map, each register has one row with
/// the description's address and size, and there are no other rows.
std::vector<IoMapFault> compare_iomap(const Submodel& submodel, std::int64_t chip, const IoMap& map);

}  // namespace calkit::calbin
