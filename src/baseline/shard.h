#pragma once
/// shard.json: what makes a folder a part of a freeze, and which. Schema calkit.baseline-shard/1.
#include <filesystem>
#include <string>

#include "calkit/baseline/freeze.h"
#include "calkit/frozen/writer.h"

namespace calkit::baseline {

inline constexpr std::string_view kShardFile = "shard.json";

/// The digests that name a freeze: of everything its answers depend on beside a prompt, and of all that it writes.
struct FreezeKeys {
  std::string answers;  ///< of one machine: an interrupted run is continued under it
  std::string freeze;   ///< of every machine: shards that belong together share it
};
/// @param reference all prompts with their ids.
FreezeKeys freeze_keys(const FreezeOptions& options, const frozen::ModelSource& source,
                       const frozen::Reference& reference);

struct ShardRecord {
  Shard shard;
  std::string freeze;         ///< FreezeKeys::freeze
  std::uint64_t prompts = 0;  ///< of all shards
  bool probes = false;        ///< this part has probes.npz and noise.json
};
Value to_value(const ShardRecord& record);
/// kInput: no shard, another schema.
Result<ShardRecord> read_shard(const std::filesystem::path& dir);

}  // namespace calkit::baseline
