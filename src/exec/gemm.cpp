// Gemm.
#include <fmt/format.h>

#include <vector>

#include "broadcast.h"
#include "dnnl_shim.h"
#include "matmul_operands.h"

namespace calkit::exec {
namespace {

// The same in F64, one sum at a time.
Status gemm_f64(const Call& call, const Tensor& a, const Tensor& b, std::int64_t m, std::int64_t n, std::int64_t k) {
  const bool turn_a = call.node.int_or("transA", 0) != 0, turn_b = call.node.int_or("transB", 0) != 0;
  const double alpha = static_cast<double>(call.node.float_or("alpha", 1.0f)),
               beta = static_cast<double>(call.node.float_or("beta", 1.0f));
  CALKIT_TRY(Tensor y, call.out(0, DType::kF64, {m, n}));
  const auto rows = static_cast<std::size_t>(m), columns = static_cast<std::size_t>(n),
             inner = static_cast<std::size_t>(k);
  const auto left = a.data<double>(), right = b.data<double>();
  auto to = y.mutable_data<double>();
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (std::size_t l = 0; l < inner; ++l)
        sum += left[turn_a ? l * rows + i : i * inner + l] * right[turn_b ? j * inner + l : l * columns + j];
      to[i * columns + j] = alpha * sum;
    }
  const Tensor* c = call.optional(2);
  if (c == nullptr) return {};
  CALKIT_TRY(const Broadcast<2> plan, (broadcast<2>(call, {&y, c})));
  if (plan.shape != y.shape()) return call.fault(2, tensor_text(*c), "a shape that fits " + tensor_text(y));
  double* out = to.data();
  for_each_run(plan, [&](const auto& offsets, std::size_t count, const auto& steps) {
    for (std::size_t i = 0; i < count; ++i) *out++ += beta * c->data<double>()[offsets[1] + i * steps[1]];
  });
  return {};
}

// y = alpha * a' * b' + beta * c, c broadcast from [n], [1, n], [m, 1] or [m, n].
Status run_gemm(const Call& call) {
  CALKIT_TRY(const Tensor* a, call.input(0));
  CALKIT_TRY(const Tensor* b, call.input(1));
  if (a->rank() != 2) return call.fault(0, tensor_text(*a), "rank 2");
  if (b->rank() != 2) return call.fault(1, tensor_text(*b), "rank 2");
  const bool turn_a = call.node.int_or("transA", 0) != 0, turn_b = call.node.int_or("transB", 0) != 0;
  const std::int64_t m = a->dim(turn_a ? 1 : 0), k = a->dim(turn_a ? 0 : 1);
  const std::int64_t n = b->dim(turn_b ? 0 : 1);
  if (b->dim(turn_b ? 1 : 0) != k) return call.fault(1, tensor_text(*b), fmt::format("an inner axis of {}", k));
  if (a->dtype() == DType::kF64) return gemm_f64(call, *a, *b, m, n, k);
  CALKIT_TRY(Tensor y, call.out(0, a->dtype(), {m, n}));
  const auto rows = static_cast<std::size_t>(m), columns = static_cast<std::size_t>(n),
             inner = static_cast<std::size_t>(k);
  std::vector<float> sums(rows * columns);
  Matrices in_a(*a), in_b(*b);
  if (!sums.empty() && inner > 0)
    CALKIT_CHECK_OK(dnnl_multiply(1, in_a.at(0, rows * inner), turn_a, in_b.at(0, inner * columns), turn_b, rows,
                                  columns, inner, sums.data()));
  const float alpha = call.node.float_or("alpha", 1.0f), beta = call.node.float_or("beta", 1.0f);
  for (float& sum : sums) sum *= alpha;
  if (const Tensor* c = call.optional(2); c != nullptr && beta != 0) {
    const std::int64_t c_rows = c->rank() == 2 ? c->dim(0) : 1, c_columns = c->rank() == 0 ? 1 : c->dim(-1);
    if (c->dtype() != a->dtype() || c->rank() > 2 || (c_rows != 1 && c_rows != m) || (c_columns != 1 && c_columns != n))
      return call.fault(2, tensor_text(*c), fmt::format("{} that fits [{}, {}]", dtype_name(a->dtype()), m, n));
    Matrices in_c(*c);
    const float* bias = in_c.at(0, c->elements());
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j)
        sums[i * columns + j] +=
            beta * bias[(c_rows == 1 ? 0 : i * static_cast<std::size_t>(c_columns)) + (c_columns == 1 ? 0 : j)];
  }
  store(y, 0, sums);
  return {};
}

}  // namespace

void register_gemm(Registry& registry) {
  registry[":Gemm"] = {.min_inputs = 2,
                       .max_inputs = 3,
                       .attributes = {"alpha=f", "beta=f", "transA=i", "transB=i"},
                       .run = &run_gemm,
                       .types = kFloatTypes,
                       .native = kLinearTypes | kTypeF64,
                       .same = kEach};
}

}  // namespace calkit::exec
