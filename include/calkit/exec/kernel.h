#pragma once
/// One operator on the CPU. The graph executor and the emulated device run the same kernels.
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calkit/onnx/model.h"
#include "calkit/tensor/tensor.h"

namespace calkit::exec {

/// Gives a kernel the storage of output `index`. The executor allocates; the emulated device returns a view at the op's
/// address, or an error if the tensor does not fit there.
using OutputAllocator = std::function<Result<Tensor>(std::size_t index, DType dtype, const Shape& shape)>;

class Kernel {
 public:
  virtual ~Kernel() = default;
  /// @param inputs one per node input; an absent optional is nullptr.
  /// Writes through `out` exactly once per output that the node names. Errors: kInput for dtypes or shapes the operator
  /// does not allow, naming node and operand.
  virtual Status run(std::span<const Tensor* const> inputs, const OutputAllocator& out) = 0;
  /// Bytes of private (packed) weights.
  virtual std::uint64_t packed_bytes() const { return 0; }
};

class LinearCache;
/// Shared by the kernels of several graphs over the same weights: what was packed once is used by all.
std::shared_ptr<LinearCache> make_linear_cache();

struct KernelOptions {
  int threads = 1;
  std::shared_ptr<LinearCache> linear_cache;  ///< may be empty
  std::int64_t opset = 0;                     ///< ai.onnx version of the node; 0: the newest known
};

/// Makes the kernel of a node. `constants[i]` is set where input i never changes: weights are packed once from it, and
/// the executor lets its pages go afterwards. kInput "operator X (domain Y) is not supported" for anything unknown.
/// Beside ai.onnx, domain "calkit" has four operators:
///   MatMulNT(x [..., K], w [N, K], bias [N] or none) -> [..., N]: x times w transposed, which is how checkpoints store
///     weights; the same numbers as MatMul(x, Transpose(w)) without the transposed copy. The bias is added in F32
///     before the one rounding.
///   SwiGLU(gate, up) -> silu(gate) * up, silu(x) = x / (1 + exp(-x)); BF16 rounds silu, then the product.
///   Experts(x [T, H], experts int64 [T, k], weights [T, k], gate.0 [F, H], up.0 [F, H], down.0 [H, F], gate.1, ...)
///     -> [T, H]: each row goes through the experts it chose, down(SwiGLU(gate(x), up(x))) times its weight, added up
///     from zero in ascending order of the experts; BF16 rounds answer, product and each sum. All weights are
///     constants; only chosen experts are computed.
///   CacheAttention(q [B,H,S,D], k [B,KVH,S,D], v [B,KVH,S,D], k_cache [B,KVH,C,D], v_cache [B,KVH,C,D], past int32
///   [B])
///     -> y [B,H,S,D]; writes k and v into the caches at positions past..past+S-1 in place, then attends causally.
///     Attributes: scale (float). kInput if past + S > C. Same numerics as Attention with past and present.
/// Domain "calkit.fused" has the operators of docs/formats/fusion.md; docs/numerics.md says how near they come to their
/// functions.
Result<std::unique_ptr<Kernel>> make_kernel(const onnx::Node& node, std::span<const Tensor* const> constants,
                                            const KernelOptions& options);

/// Operators make_kernel() accepts, "domain:type", sorted.
std::vector<std::string> supported_operators();

/// What a session runs: make_kernel()'s operators and those with graphs inside (If, Loop, Scan).
struct OperatorClaim {
  std::string name;        ///< "domain:type"
  std::int64_t since = 0;  ///< first ai.onnx version; every later one up to 28 is meant
  std::string types;       ///< of the main operand: "f32, bf16"
};
std::vector<OperatorClaim> operator_claims();  ///< sorted by name

/// "avx2", "avx512", "avx512_bf16", ...: what the kernels were dispatched to on this machine.
std::string dispatch_name();

}  // namespace calkit::exec
