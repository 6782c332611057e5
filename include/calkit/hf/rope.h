#pragma once
/// The angles of RoPE: position p turns pair i of a head by p * inverse_frequencies()[i], and cos and sin are then
/// multiplied by attention_factor(). Both follow from the spec alone.
#include <vector>

#include "calkit/hf/spec.h"

namespace calkit::hf {

/// head_dim / 2 numbers with the scaling applied, in float32 and rounded where Transformers rounds them. "dynamic" has
/// no effect up to max_positions, which is as far as calkit goes.
std::vector<float> inverse_frequencies(const ModelSpec& spec);

/// 1 for every type but yarn. Transformers multiplies cos and sin in float32 by it.
double attention_factor(const ModelSpec& spec);

}  // namespace calkit::hf
