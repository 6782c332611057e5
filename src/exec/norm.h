#pragma once
/// RMSNormalization, for the operators that contain one.
#include <vector>

#include "call.h"

namespace calkit::exec {

/// What a call normalises: rows of `width` numbers, all but the last axes from `axis` on.
struct RmsNorm {
  const Tensor* x = nullptr;
  std::vector<float> weight;
  std::size_t width = 0, rows = 0;
  float epsilon = 0;
};
/// Operands 0 and 1, attributes axis (default -1), epsilon and stash_type. kInput for what the operator does not allow.
Result<RmsNorm> read_rms_norm(const Call& call);
/// y = x / rms(x) * weight; `round`: the normalised number is rounded to BF16 before it meets the weight, as the peers
/// do. y is not rounded.
void rms_norm_row(const RmsNorm& norm, const float* x, bool round, float* y);

}  // namespace calkit::exec
