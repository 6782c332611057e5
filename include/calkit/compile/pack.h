#pragma once
/// pack: lowers exported graphs into a package for the emulated device (docs/formats/calbin.md,
/// docs/formats/oplist.md).
///   NAME.calbin/  calbin.json  param_blk0.bin  oplist/{prefill,decode}.chip0.json  golden/*.npz
/// One chip holds everything: parameters, KV (slots x layers x K|V x heads x context x dim), one workspace that both
/// submodels use in turn, and the I/O and CSRs of each submodel.
/// Equal inputs and options give equal bytes, wherever the folders lie.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "calkit/base/result.h"
#include "calkit/manifest/targets.h"

namespace calkit::compile {

struct PackOptions {
  std::filesystem::path onnx_dir;  ///< as onnx-export writes it
  std::filesystem::path baseline;  ///< the frozen baseline of the same model: targets, digests, goldens
  std::filesystem::path out;       ///< NAME.calbin; NAME names the package and its submodels
  std::int64_t slots = 0;          ///< KV slots; 0: as many as the targets' batch
  std::int64_t tile_rows = 0;      ///< D0 of the logits layout: 0 (none), 16 or 32
  manifest::DeviceProfile profile;
};

struct PackReport {
  std::string name, version, runtime_abi, architecture, digest;  ///< digest of calbin.json
  std::string prefill_model, decode_model;                       ///< exact names for the service manifest
  std::string token, position, logits;                           ///< "inputs[0]", ...
  std::string csr_current, csr_past_current;                     ///< "cur_seq_len[0]", ...
  std::int64_t context = 0, batch = 0, vocab = 0, slots = 0;
  std::uint64_t prefill_ops = 0, decode_ops = 0, params = 0, goldens = 0;
  std::uint64_t param_bytes = 0, kv_bytes = 0, workspace_bytes = 0, io_bytes = 0, guard_bytes = 0, device_required = 0;
};

/// kInput, nothing written: graphs and baseline of different models, a graph that is not what its contract says, a
/// vocabulary, dtype or context that does not fit, an operator that has no lowering, or a package larger than one
/// chiplet (with the sum line by line). kUsage: an option outside what its comment allows.
Result<PackReport> pack(const PackOptions& options);

}  // namespace calkit::compile
