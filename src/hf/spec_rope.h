#pragma once
/// RoPE parameters in both dialects (private to hf).
#include "calkit/hf/spec.h"

namespace calkit::hf {

/// Reads `rope_theta` + `rope_scaling` (Transformers 4), `rope_parameters` (5), or both if they agree. Needs head_dim
/// and max_positions.
Status read_rope(const Cursor& config, ModelSpec& spec);

}  // namespace calkit::hf
