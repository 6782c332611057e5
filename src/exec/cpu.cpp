#include "cpu.h"

#include "dnnl_shim.h"

#include "calkit/exec/kernel.h"

namespace calkit::exec {

Isa best_isa() {
#if defined(__x86_64__)
  static const Isa isa = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? Isa::kAvx2 : Isa::kScalar;
  return isa;
#else
  return Isa::kScalar;
#endif
}

std::string dispatch_name() {
  if (dnnl_packs(DType::kBF16)) return "avx512_bf16";
  if (dnnl_packs(DType::kF32)) return "avx512";
  return best_isa() == Isa::kAvx2 ? "avx2" : "scalar";
}

}  // namespace calkit::exec
