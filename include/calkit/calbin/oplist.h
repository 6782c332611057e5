#pragma once
/// The op list of one submodel on one chip: what the emulated device executes (JSON file of role "oplist", schema
/// calkit.oplist/1, docs/formats/oplist.md). Ops are ONNX operators, plus calkit:CacheAttention, on addresses.
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "calkit/base/document.h"
#include "calkit/tensor/tensor.h"

namespace calkit::calbin {

/// An extent: a number, or a symbol the device fills per call: "B" (rows), "S" (tokens of this call).
struct Extent {
  std::variant<std::int64_t, std::string> value;
  bool operator==(const Extent&) const = default;
};
struct Operand {
  std::string name;                  ///< value name, for people and probes
  std::string region;                ///< region id
  std::uint64_t base = 0, size = 0;  ///< device address and reserved bytes
  DType dtype = DType::kF32;
  std::vector<Extent> shape;
  bool absent = false;  ///< an absent optional input
  std::string csr;      ///< the operand is this CSR's register, not memory
  bool operator==(const Operand&) const = default;
};
struct OpAttribute {
  std::string name;
  std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>> value;
  bool operator==(const OpAttribute&) const = default;
};
struct Op {
  std::int64_t id = 0;
  std::string type, domain, name;
  std::vector<OpAttribute> attributes;
  std::vector<Operand> reads, writes;
  bool operator==(const Op&) const = default;
};
struct OpList {
  std::string submodel;
  std::int64_t chip = 0;
  std::vector<Op> ops;
  bool operator==(const OpList&) const = default;
};
Result<OpList> parse_oplist(const Cursor& root);
Value to_value(const OpList& oplist);

}  // namespace calkit::calbin
