// MatMul, Gemm and calkit:MatMulNT.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "call.h"
#include "dnnl_shim.h"
#include "dot.h"
#include "linear.h"

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

// x [..., k] through `linear`; the output keeps x's leading axes.
Status apply_linear(const Call& call, const Tensor& x, const Linear& linear) {
  if (x.dtype() != linear.dtype())
    return call.fault(0, tensor_text(x), fmt::format("{}, as the weights", dtype_name(linear.dtype())));
  if (x.rank() == 0 || x.dim(-1) != static_cast<std::int64_t>(linear.inputs()))
    return call.fault(0, tensor_text(x), fmt::format("a last axis of {}", linear.inputs()));
  Shape shape = x.shape();
  shape.back() = static_cast<std::int64_t>(linear.outputs());
  CALKIT_TRY(const std::vector<float> bias, read_bias(call, linear));
  CALKIT_TRY(Tensor y, call.out(0, x.dtype(), shape));
  return linear.multiply(x.raw(), extent(x.shape(), 0, x.rank() - 1), y.mutable_raw(),
                         bias.empty() ? nullptr : bias.data());
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

// One operand's matrices as F32: a view for F32, a widened copy of one matrix otherwise.
class Matrices {
 public:
  explicit Matrices(const Tensor& tensor) : tensor_(tensor) {}
  const float* at(std::size_t index, std::size_t elements) {
    if (tensor_.dtype() == DType::kF32) return tensor_.data<float>().data() + index * elements;
    wide_.resize(elements);
    widen(best_isa(), tensor_.data<BF16>().data() + index * elements, wide_.data(), elements);
    return wide_.data();
  }

 private:
  const Tensor& tensor_;
  std::vector<float> wide_;
};

// Writes matrix `index` of an output of either type.
void store(Tensor& y, std::size_t index, const std::vector<float>& sums) {
  if (y.dtype() == DType::kF32)
    std::copy(sums.begin(), sums.end(), y.mutable_data<float>().data() + index * sums.size());
  else
    narrow(best_isa(), sums.data(), y.mutable_data<BF16>().data() + index * sums.size(), sums.size());
}

// The batch axes of a MatMul: for each output matrix, which matrix of a and of b.
struct Batches {
  Shape shape;
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
};

Result<Batches> broadcast_batches(const Call& call, const Tensor& a, const Shape& a_batch, const Shape& b_batch) {
  Batches out;
  const std::size_t rank = std::max(a_batch.size(), b_batch.size());
  Shape a_full(rank - a_batch.size(), 1), b_full(rank - b_batch.size(), 1);
  a_full.insert(a_full.end(), a_batch.begin(), a_batch.end());
  b_full.insert(b_full.end(), b_batch.begin(), b_batch.end());
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (a_full[axis] != b_full[axis] && a_full[axis] != 1 && b_full[axis] != 1)
      return call.fault(1, shape_text(b_batch), fmt::format("batch axes that fit {}", shape_text(a.shape())));
    out.shape.push_back(a_full[axis] == 1 ? b_full[axis] : a_full[axis]);
  }
  const auto a_strides = strides_of(a_full), b_strides = strides_of(b_full);
  const std::size_t total = extent(out.shape, 0, rank);
  for (std::size_t index = 0; index < total; ++index) {
    std::size_t rest = index, in_a = 0, in_b = 0;
    for (std::size_t axis = rank; axis-- > 0;) {
      const std::size_t at = rest % static_cast<std::size_t>(out.shape[axis]);
      rest /= static_cast<std::size_t>(out.shape[axis]);
      if (a_full[axis] != 1) in_a += at * a_strides[axis];
      if (b_full[axis] != 1) in_b += at * b_strides[axis];
    }
    out.pairs.emplace_back(in_a, in_b);
  }
  return out;
}

Status run_matmul(const Call& call, int threads) {
  CALKIT_TRY(const Tensor* a, call.input(0));
  CALKIT_TRY(const Tensor* b, call.input(1));
  CALKIT_CHECK_OK(check_operands(call, *a, *b));
  if (a->rank() == 0 || b->rank() == 0) return call.fault("a scalar operand", "rank 1 or more");
  Shape left = a->shape(), right = b->shape();
  if (a->rank() == 1) left.insert(left.begin(), 1);
  if (b->rank() == 1) right.push_back(1);
  const std::int64_t m = left[left.size() - 2], k = left.back(), n = right.back();
  if (right[right.size() - 2] != k) return call.fault(1, tensor_text(*b), fmt::format("{} rows", k));
  CALKIT_TRY(const Batches batches,
             broadcast_batches(call, *a, Shape(left.begin(), left.end() - 2), Shape(right.begin(), right.end() - 2)));
  Shape shape = batches.shape;
  if (a->rank() > 1) shape.push_back(m);
  if (b->rank() > 1) shape.push_back(n);
  CALKIT_TRY(Tensor y, call.out(0, a->dtype(), shape));
  const auto rows = static_cast<std::size_t>(m), columns = static_cast<std::size_t>(n),
             inner = static_cast<std::size_t>(k);
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
    CALKIT_TRY(const Tensor* x, call.input(0));
    return apply_linear(call, *x, *linear_);
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
    return apply_linear(call, *x, *linear);
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
  if (options.linear_cache) {
    CALKIT_TRY(auto shared, options.linear_cache->get(*w, options.threads), node_label(node));
    return std::unique_ptr<Kernel>(new LinearKernel(node, std::move(shared), 0));
  }
  CALKIT_TRY(std::shared_ptr<const Linear> linear, Linear::create(*w, options.threads), node_label(node));
  return std::unique_ptr<Kernel>(new LinearKernel(node, std::move(linear), 0));
}

// y = alpha * a' * b' + beta * c, c broadcast from [n], [1, n], [m, 1] or [m, n].
Status run_gemm(const Call& call) {
  CALKIT_TRY(const Tensor* a, call.input(0));
  CALKIT_TRY(const Tensor* b, call.input(1));
  CALKIT_CHECK_OK(check_operands(call, *a, *b));
  if (a->rank() != 2) return call.fault(0, tensor_text(*a), "rank 2");
  if (b->rank() != 2) return call.fault(1, tensor_text(*b), "rank 2");
  const bool turn_a = call.node.int_or("transA", 0) != 0, turn_b = call.node.int_or("transB", 0) != 0;
  const std::int64_t m = a->dim(turn_a ? 1 : 0), k = a->dim(turn_a ? 0 : 1);
  const std::int64_t n = b->dim(turn_b ? 0 : 1);
  if (b->dim(turn_b ? 1 : 0) != k) return call.fault(1, tensor_text(*b), fmt::format("an inner axis of {}", k));
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

void register_matmul(Registry& registry) {
  registry[":MatMul"] = {.min_inputs = 2, .max_inputs = 2, .factory = &make_matmul};
  registry["calkit:MatMulNT"] = {.min_inputs = 2, .max_inputs = 3, .factory = &make_matmul_nt};
  registry[":Gemm"] = {
      .min_inputs = 2, .max_inputs = 3, .attributes = {"alpha", "beta", "transA", "transB"}, .run = &run_gemm};
}

}  // namespace calkit::exec
