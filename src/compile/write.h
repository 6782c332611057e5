#pragma once
/// The files of the package beside calbin.json. Each function writes into the staged folder and returns its entry.
#include <filesystem>
#include <string>
#include <vector>

#include "calkit/calbin/package.h"
#include "inputs.h"
#include "place.h"

namespace calkit::compile {

/// Streams all parameters into param_blk0.bin; source pages are let go one by one.
Result<calbin::PackageFile> write_params(const std::filesystem::path& dir, const Inputs& inputs,
                                         const ParamBlock& block);

Result<calbin::PackageFile> write_oplist(const std::filesystem::path& dir, const PlacedGraph& graph,
                                         const std::string& submodel);

struct Goldens {
  std::vector<calbin::PackageFile> files;
  std::vector<calbin::Golden> entries;
};
/// A few prompts of the reference as npz.
///   prefill: inputs `tokens.I` i32 [n], outputs `logits.I` f32 [vocab] of the last token
///   decode:  inputs `tokens` i32 [n] (a prompt and its greedy tokens, to be fed in order), outputs `top_ids` i32
///   [steps, k] and
///            `top_logits` f32 [steps, k] after each of the last `steps` tokens
Result<Goldens> write_goldens(const std::filesystem::path& dir, const Inputs& inputs, std::int64_t context,
                              const std::string& prefill_model, const std::string& decode_model);

}  // namespace calkit::compile
