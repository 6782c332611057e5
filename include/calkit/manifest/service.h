#pragma once
/// The service manifest, schema 1, exact keys (docs/formats/service-manifest.md). Unknown or duplicate keys are errors.
#include <cstdint>
#include <filesystem>
#include <string>

#include "calkit/base/document.h"

namespace calkit::manifest {

/// "inputs[0]", "cur_seq_len[0]": a name and an index.
struct Binding {
  std::string name;
  std::uint32_t index = 0;
  std::string text;  ///< as written
};

struct ServiceManifest {
  std::string architecture, calbin_version, runtime_abi;
  std::string target;  ///< the device the package must be made for; empty: not stated
  std::int64_t context = 0, batch = 0, vocab = 0;
  std::string prefill_model, decode_model;
  Binding token, position, logits;        ///< tensors
  Binding csr_current, csr_past_current;  ///< csr
};
Result<ServiceManifest> read_service(const std::filesystem::path& path);
std::string to_yaml(const ServiceManifest& manifest);

}  // namespace calkit::manifest
