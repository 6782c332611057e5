#pragma once
/// The weight files of a model folder: one file, or shards behind an index (private to hf).
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model_dir.h"
#include "safetensors.h"

namespace calkit::hf {

struct WeightFile {
  std::string name;
  std::shared_ptr<const MappedFile> map;
  RawHeader header;
};

/// Opens and checks model.safetensors, or every shard that model.safetensors.index.json names and what it says of each
/// tensor. Shard names are checked before any is opened. Sorted by name.
Result<std::vector<WeightFile>> open_weights(const ModelDir& dir);

}  // namespace calkit::hf
