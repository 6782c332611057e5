#pragma once
/// An element as F32 and back: BF16 is widened, and rounded to nearest even when it is put.
#include "calkit/tensor/dtype.h"

namespace calkit::exec {

inline float wide(float v) {
  return v;
}
inline float wide(BF16 v) {
  return to_float(v);
}
inline double wide(double v) {
  return v;
}
inline void put(double& to, double v) {
  to = v;
}
inline void put(float& to, float v) {
  to = v;
}
inline void put(BF16& to, float v) {
  to = to_bf16(v);
}

}  // namespace calkit::exec
