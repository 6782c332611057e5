#pragma once
// contract.json as a document; private to the module.
#include "calkit/base/hash.h"
#include "calkit/base/value.h"
#include "calkit/model/graph.h"

namespace calkit::model {

struct NamedDigest {
  std::string name;
  FileDigest digest;
};
struct ContractParts {
  const hf::ModelSpec& spec;
  DType dtype;
  const onnx::Model& prefill;
  const onnx::Model& decode;
  FixedAxes fixed;
  NamedDigest prefill_file, decode_file;
  NamedDigest weights_file;         ///< without a digest: left out
  Value config;                     ///< config.json itself
  std::vector<NamedDigest> inputs;  ///< config.json first, then the weight files
};
Value contract_value(const ContractParts& parts);

}  // namespace calkit::model
