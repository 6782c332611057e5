#pragma once
/// A package as the emulated device accepted it: read, hashed, and every address checked before anything runs.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "calkit/calbin/oplist.h"
#include "calkit/calbin/package.h"

namespace calkit::emulator {

/// What an operand is.
enum class Place { kAbsent, kParam, kCsr, kKv, kMemory };

struct BoundOperand {
  const calbin::Operand* spec = nullptr;
  Place place = Place::kAbsent;
};

struct BoundOp {
  const calbin::Op* op = nullptr;
  std::vector<BoundOperand> reads, writes;
  bool per_row = false;  ///< touches the KV region: runs row by row, each on its own slot
};

/// One submodel with its op list.
struct Program {
  const calbin::Submodel* submodel = nullptr;
  std::int64_t chip = 0;
  calbin::OpList list;
  std::vector<BoundOp> ops;
};

struct Image {
  std::unique_ptr<const calbin::Package> package;
  std::vector<Program> programs;  ///< in the order of the package's submodels
  std::optional<Error> beyond;    ///< the first thing in an op list that other devices may do and this one does not

  const calbin::Description& description() const { return package->description(); }
  const Program* program(std::string_view exact_name) const;
  /// Bytes between two KV slots.
  std::uint64_t slot_stride() const;
};

/// Opens the folder and checks sizes and hashes of its files. kInput: damaged.
Result<std::unique_ptr<const calbin::Package>> open_package(const std::filesystem::path& path);
/// kInput for what this device does not do: another submodel type, several chips per submodel, another element type.
Status check_supported(const calbin::Description& description);
/// Reads op lists and I/O maps and checks every address against its region. kInput: the package contradicts itself.
Result<Image> bind_image(std::unique_ptr<const calbin::Package> package);
/// kInput for an operator without a kernel, and for what else in the op lists is beyond this device.
Status check_operators(const Image& image);

/// The number of an extent for a call of `rows` rows and `tokens` tokens.
std::int64_t extent_value(const calbin::Extent& extent, std::int64_t rows, std::int64_t tokens);
Shape operand_shape(const calbin::Operand& operand, std::int64_t rows, std::int64_t tokens);

}  // namespace calkit::emulator
