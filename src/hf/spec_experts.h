#pragma once
/// Mixture-of-experts fields (private to hf).
#include "calkit/hf/spec.h"

namespace calkit::hf {

/// Of the Qwen3-MoE family: sizes of the experts and which layers have them. Needs the layer count.
Status read_experts(const Cursor& config, ModelSpec& spec);

}  // namespace calkit::hf
