#pragma once
/// What pack reads: the exported graphs with their contract, and the frozen baseline; both must speak of one model.
#include <filesystem>
#include <memory>
#include <string>

#include "calkit/base/files.h"
#include "calkit/frozen/baseline.h"
#include "calkit/onnx/model.h"

namespace calkit::compile {

struct Inputs {
  frozen::ModelSource source;
  frozen::Reference reference;
  hf::ModelSpec spec;
  DType dtype = DType::kF32;    ///< of weights, activations and KV
  onnx::Model prefill, decode;  ///< with inferred shapes
  std::string prefill_sha256, decode_sha256;
  std::string weights_file;
  std::shared_ptr<const MappedFile> weights;  ///< pages are let go as they are packed
};

/// Reads and checks everything: hashes against the contract, contract against the baseline.
Result<Inputs> read_inputs(const std::filesystem::path& onnx_dir, const std::filesystem::path& baseline);

}  // namespace calkit::compile
