#pragma once
/// Addresses: regions of the chip, parameters in their block, workspace by lifetime, I/O tensors and CSRs.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "calkit/calbin/package.h"
#include "calkit/manifest/targets.h"
#include "inputs.h"
#include "lower.h"

namespace calkit::compile {

/// One parameter in the block; offsets are 64-byte aligned.
struct BlockEntry {
  const onnx::Initializer* initializer = nullptr;
  DType dtype = DType::kF32;
  std::uint64_t offset = 0;
};

struct ParamBlock {
  std::vector<BlockEntry> entries;
  std::map<std::string, std::size_t> by_name;
  std::uint64_t bytes = 0;
};

/// A lowered graph and the address of each of its storages.
struct PlacedGraph {
  std::string phase;  ///< "prefill" or "decode"
  LowerOptions options;
  Lowered lowered;
  std::vector<std::uint64_t> address;  ///< by storage
  std::vector<std::string> region;     ///< by storage
  std::uint64_t workspace_peak = 0;
};

struct MemoryPlan {
  ParamBlock params;
  std::vector<calbin::Region> regions;
  std::uint64_t kv_bytes = 0, workspace_bytes = 0, io_bytes = 0, device_required = 0;
};

struct PlaceOptions {
  std::int64_t slots = 1, tile_rows = 0;
  manifest::DeviceProfile profile;
};

/// Collects the parameters of both graphs, in order of first use. kInput if one name has two contents.
Result<ParamBlock> collect_params(const Inputs& inputs, const std::vector<PlacedGraph>& graphs);

/// Gives every storage of every graph its address. kInput, with the sum line by line, if one chiplet is too small.
Result<MemoryPlan> place(const Inputs& inputs, const PlaceOptions& options, std::vector<PlacedGraph>& graphs);

/// Rows of the logits tensor with padding to the tile.
std::int64_t padded_rows(std::int64_t rows, std::int64_t tile_rows);

}  // namespace calkit::compile
