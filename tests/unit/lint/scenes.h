#pragma once
/// Larger changes that several cases start from. Each of them is clean by itself.
#include "calkit/tensor/tensor.h"
#include "chip_scenes.h"
#include "lint_case.h"

namespace calkit::lint {

/// A package of a real device: everything about its build is stated, and the support matrix has a row for it.
void as_board(Scene& s);
/// model-source/manifest.json of a frozen baseline with the package's own digests and shape.
std::string frozen_manifest(const calbin::Description& d);
/// A parameter 'w', i8 [32, 32] of scheme w8a8, with one f32 scale per row in 'w.scale'.
void quantise(Scene& s);
inline constexpr std::uint64_t kWeightAt = 4160, kScaleAt = kWeightAt + 1024;
void put_bytes(Scene& s, std::uint64_t at, const void* bytes, std::size_t count);
/// Golden files for prefill (tokens.0, logits.0) and decode (tokens; top_ids, top_logits).
void add_golden_files(Scene& s);
using Members = std::vector<std::pair<std::string, Tensor>>;
/// Replaces a golden file, "golden.prefill.outputs".
void set_golden(Scene& s, const std::string& id, const Members& members);
/// A second decode of half the context, with its op list.
void add_decode(Scene& s, const std::string& name);

}  // namespace calkit::lint
