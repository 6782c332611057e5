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

struct Weights {
  std::vector<WeightFile> files;   ///< sorted by name; each tensor is in one of them
  std::vector<std::string> notes;  ///< where index and shards disagree without harm
};

/// Opens and checks model.safetensors, or every shard that model.safetensors.index.json names and what it says of each
/// tensor. Shard names are checked before any is opened.
Result<Weights> open_weights(const ModelDir& dir);

}  // namespace calkit::hf
