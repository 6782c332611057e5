#pragma once
/// RoPE parameters in both dialects (private to hf).
#include "calkit/hf/spec.h"

namespace calkit::hf {

/// Reads `rope_theta` + `rope_scaling` (Transformers 4), `rope_parameters` (5), or both if they agree. Only unscaled
/// RoPE over the whole head is taken.
Status read_rope(const Cursor& config, ModelSpec& spec);

}  // namespace calkit::hf
