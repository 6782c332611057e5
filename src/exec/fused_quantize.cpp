// calkit.fused: QuantizePerToken, RmsNormQuantize and SwiGluQuantize. A row is made, rounded to the type of the
// operands as if it were written, and becomes int8 with a scale of its own.
#include <fmt/format.h>

#include <atomic>

#include "activation.h"
#include "float_rows.h"
#include "norm.h"
#include "parallel.h"
#include "quantize_rows.h"
#include "threaded_kernel.h"

namespace calkit::exec {
namespace {

constexpr std::size_t kGrainNumbers = 1u << 16;

/// make(row, to) writes a row of x's last axis.
template <class Make>
Status quantize_rows(const Call& call, const Tensor& x, int threads, const Make& make) {
  if (x.rank() == 0) return call.fault(0, tensor_text(x), "rank 1 or more");
  Shape column = x.shape();
  column.back() = 1;
  CALKIT_TRY(Tensor q, call.out(0, DType::kI8, x.shape()));
  CALKIT_TRY(Tensor scale, call.out(1, DType::kF32, column));
  const auto width = static_cast<std::size_t>(x.dim(-1));
  const std::size_t count = extent(column, 0, column.size());
  std::atomic<std::size_t> wrong = SIZE_MAX;  // a row that is not finite
  parallel_for(
      threads, count, kGrainNumbers / std::max<std::size_t>(1, width), [&](std::size_t begin, std::size_t end) {
        std::vector<float> values(width);
        for (std::size_t row = begin; row < end; ++row) {
          make(row, values.data());
          const bool finite =
              quantize_row(best_isa(), values.data(), width, q.mutable_data<std::int8_t>().data() + row * width,
                           scale.mutable_data<float>()[row]);
          if (!finite) wrong = row;
        }
      });
  if (wrong != SIZE_MAX)
    return call.fault(fmt::format("a number that is not finite in row {}", wrong.load()),
                      "finite numbers, which int8 with a scale can stand for");
  return {};
}

Status run_quantize(const Call& call, int threads) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  if (!has_type(kFloat16Types, x->dtype())) return call.fault(0, tensor_text(*x), types_text(kFloat16Types));
  const std::size_t width = x->rank() == 0 ? 0 : static_cast<std::size_t>(x->dim(-1));
  return quantize_rows(call, *x, threads,
                       [&](std::size_t row, float* to) { read_numbers(*x, row * width, width, to); });
}

Status run_norm_quantize(const Call& call, int threads) {
  CALKIT_TRY(const RmsNorm norm, read_rms_norm(call));
  const DType dtype = norm.x->dtype();
  if (!has_type(kFloat16Types, dtype)) return call.fault(0, tensor_text(*norm.x), types_text(kFloat16Types));
  return quantize_rows(call, *norm.x, threads, [&](std::size_t row, float* to) {
    read_numbers(*norm.x, row * norm.width, norm.width, to);
    if (norm.width > 0) rms_norm_row(norm, to, dtype == DType::kBF16, to);
    round_row(dtype, to, norm.width);
  });
}

// F16 is widened and rounded once, as the operator of the function is; BF16 rounds silu, too.
Status run_gated_quantize(const Call& call, int threads) {
  CALKIT_TRY(const Tensor* gate, call.input(0));
  CALKIT_TRY(const Tensor* up, call.input(1));
  const DType dtype = gate->dtype();
  if (!has_type(kFloat16Types, dtype)) return call.fault(0, tensor_text(*gate), types_text(kFloat16Types));
  if (up->dtype() != dtype || up->shape() != gate->shape())
    return call.fault(1, tensor_text(*up), tensor_text(*gate) + ", as the gate");
  const std::size_t width = gate->rank() == 0 ? 0 : static_cast<std::size_t>(gate->dim(-1));
  return quantize_rows(call, *gate, threads, [&](std::size_t row, float* to) {
    const std::size_t at = row * width;
    if (dtype == DType::kBF16) {
      std::vector<BF16> product(width);
      swiglu(best_isa(), gate->data<BF16>().data() + at, up->data<BF16>().data() + at, product.data(), width);
      return widen(best_isa(), product.data(), to, width);
    }
    std::vector<float> other(width);
    read_numbers(*gate, at, width, to);
    read_numbers(*up, at, width, other.data());
    swiglu(best_isa(), to, other.data(), to, width);
    round_row(dtype, to, width);
  });
}

}  // namespace

void register_fused_quantize(Registry& registry) {
  const auto add = [&](const char* name, std::size_t inputs, Factory factory) -> Operator& {
    return registry[name] = {.min_inputs = inputs,
                             .max_inputs = inputs,
                             .factory = factory,
                             .types = kFloat16Types,
                             .native = kFloat16Types,
                             .since = 23};
  };
  add("calkit.fused:QuantizePerToken", 1, &ThreadedKernel<&run_quantize>::make);
  add("calkit.fused:RmsNormQuantize", 2, &ThreadedKernel<&run_norm_quantize>::make).attributes = {"epsilon=f"};
  add("calkit.fused:SwiGluQuantize", 2, &ThreadedKernel<&run_gated_quantize>::make);
}

}  // namespace calkit::exec
