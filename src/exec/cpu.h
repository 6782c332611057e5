#pragma once
/// Which instructions our own kernels use. The scalar twins do the same operations in the same order, so that both give
/// the same bits; tests hold one against the other.
namespace calkit::exec {

enum class Isa { kScalar, kAvx2 };  ///< kAvx2: AVX2 and FMA
Isa best_isa();

}  // namespace calkit::exec
