// MatMul and calkit:MatMulNT.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "dnnl_shim.h"
#include "linear_call.h"
#include "matmul_operands.h"
#include "matmul_shape.h"

namespace calkit::exec {
namespace {

bool is_linear_type(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBF16;
}

Status check_operands(const Call& call, const Tensor& a, const Tensor& b) {
  if (!is_linear_type(a.dtype())) return call.fault(0, tensor_text(a), "f32 or bf16");
  if (a.dtype() != b.dtype())
    return call.fault(1, tensor_text(b), fmt::format("{}, as the first operand", dtype_name(a.dtype())));
  return {};
}

// The bias of calkit:MatMulNT, or nothing.
Result<std::vector<float>> read_bias(const Call& call, const Linear& linear) {
  const Tensor* bias = call.optional(2);
  if (bias == nullptr) return std::vector<float>();
  if (bias->dtype() != linear.dtype() || bias->shape() != Shape{static_cast<std::int64_t>(linear.outputs())})
    return call.fault(2, tensor_text(*bias), fmt::format("{} [{}]", dtype_name(linear.dtype()), linear.outputs()));
  return to_floats(*bias);
}

Status run_linear(const Call& call, const Linear& linear) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(const std::vector<float> bias, read_bias(call, linear));
  CALKIT_TRY([[maybe_unused]] const Tensor y, apply_linear(call, *x, linear, bias));
  return {};
}

// The transposed copy of a matrix [k, n].
template <class T>
void transpose_into(const T* from, T* to, std::size_t k, std::size_t n) {
  constexpr std::size_t kTile = 32;
  for (std::size_t i = 0; i < k; i += kTile)
    for (std::size_t j = 0; j < n; j += kTile)
      for (std::size_t a = i; a < std::min(k, i + kTile); ++a)
        for (std::size_t b = j; b < std::min(n, j + kTile); ++b) to[b * k + a] = from[a * n + b];
}

Result<Tensor> transposed(const Tensor& w) {
  CALKIT_TRY(Tensor out, Tensor::zeros(w.dtype(), {w.dim(1), w.dim(0)}));
  const auto k = static_cast<std::size_t>(w.dim(0)), n = static_cast<std::size_t>(w.dim(1));
  if (w.dtype() == DType::kF32)
    transpose_into(w.data<float>().data(), out.mutable_data<float>().data(), k, n);
  else
    transpose_into(w.data<BF16>().data(), out.mutable_data<BF16>().data(), k, n);
  return out;
}

Status run_matmul(const Call& call, int threads) {
  CALKIT_TRY(const Tensor* a, call.input(0));
  CALKIT_TRY(const Tensor* b, call.input(1));
  if (!is_linear_type(a->dtype())) return exact_matmul(call, *a, *b);
  CALKIT_CHECK_OK(check_operands(call, *a, *b));
  CALKIT_TRY(const MatMulShape batches, matmul_shape(call, *a, *b));
  CALKIT_TRY(Tensor y, call.out(0, a->dtype(), batches.shape));
  const std::size_t rows = batches.rows, columns = batches.columns, inner = batches.inner;
  if (rows * columns == 0 || inner == 0) {
    std::memset(y.mutable_raw(), 0, y.bytes());
    return {};
  }
  Matrices in_a(*a), in_b(*b);
  std::vector<float> sums(rows * columns);
  for (std::size_t index = 0; index < batches.pairs.size(); ++index) {
    const auto [at_a, at_b] = batches.pairs[index];
    CALKIT_CHECK_OK(dnnl_multiply(threads, in_a.at(at_a, rows * inner), false, in_b.at(at_b, inner * columns), false,
                                  rows, columns, inner, sums.data()));
    store(y, index, sums);
  }
  return {};
}

// MatMul with constant weights, or MatMulNT.
class LinearKernel : public Kernel {
 public:
  LinearKernel(const onnx::Node& node, std::shared_ptr<const Linear> linear, std::uint64_t copied)
      : node_(node), linear_(std::move(linear)), copied_(copied) {}
  Status run(std::span<const Tensor* const> inputs, const OutputAllocator& out) override {
    const Call call{node_, inputs, out};
    return run_linear(call, *linear_);
  }
  std::uint64_t packed_bytes() const override { return linear_->packed_bytes() + copied_; }

 private:
  onnx::Node node_;
  std::shared_ptr<const Linear> linear_;
  std::uint64_t copied_;
};

class MatMulKernel : public Kernel {
 public:
  MatMulKernel(const onnx::Node& node, int threads, bool transposed_weights)
      : node_(node), threads_(threads), transposed_weights_(transposed_weights) {}
  Status run(std::span<const Tensor* const> inputs, const OutputAllocator& out) override {
    const Call call{node_, inputs, out};
    if (!transposed_weights_) return run_matmul(call, threads_);
    CALKIT_TRY(const Tensor* x, call.input(0));
    CALKIT_TRY(const Tensor* w, call.input(1));
    CALKIT_CHECK_OK(check_operands(call, *x, *w));
    if (w->rank() != 2) return call.fault(1, tensor_text(*w), "rank 2");
    CALKIT_TRY(const auto linear, Linear::create(*w, threads_, false));
    return run_linear(call, *linear);
  }

 private:
  onnx::Node node_;
  int threads_;
  bool transposed_weights_;
};

bool usable_weights(const Tensor* w) {
  return w != nullptr && w->rank() == 2 && is_linear_type(w->dtype());
}

Result<std::unique_ptr<Kernel>> make_matmul(const onnx::Node& node, std::span<const Tensor* const> constants,
                                            const KernelOptions& options) {
  const Tensor* w = constants.size() > 1 ? constants[1] : nullptr;
  if (!usable_weights(w)) return std::unique_ptr<Kernel>(new MatMulKernel(node, options.threads, false));
  CALKIT_TRY(Tensor rows, transposed(*w), node_label(node));
  const std::uint64_t copied = rows.bytes();
  CALKIT_TRY(std::shared_ptr<const Linear> linear, Linear::create(std::move(rows), options.threads), node_label(node));
  return std::unique_ptr<Kernel>(new LinearKernel(node, std::move(linear), copied));
}

Result<std::unique_ptr<Kernel>> make_matmul_nt(const onnx::Node& node, std::span<const Tensor* const> constants,
                                               const KernelOptions& options) {
  const Tensor* w = constants.size() > 1 ? constants[1] : nullptr;
  if (!usable_weights(w)) return std::unique_ptr<Kernel>(new MatMulKernel(node, options.threads, true));
  CALKIT_TRY(auto linear, linear_of(node, *w, options));
  return std::unique_ptr<Kernel>(new LinearKernel(node, std::move(linear), 0));
}

}  // namespace

void register_matmul(Registry& registry) {
  registry[":MatMul"] = {.min_inputs = 2,
                         .max_inputs = 2,
                         .factory = &make_matmul,
                         .types = kProductTypes,
                         .native = kLinearTypes | kExactTypes,
                         .same = kEach};
  registry["calkit:MatMulNT"] = {
      .min_inputs = 2, .max_inputs = 3, .factory = &make_matmul_nt, .types = kLinearTypes, .native = kLinearTypes};
}

}  // namespace calkit::exec
