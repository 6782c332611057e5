// calkit.fused: QuantizedLinear, QuantizedLinearAdd and QuantizedLinearAddAdd. Exact sums, then the float operations of
// the operators' functions in their order. QuantizedLinearTopK keeps the best of each row, a block of w at a time.
#include <fmt/format.h>

#include "float_rows.h"
#include "fused_top_k.h"
#include "parallel.h"
#include "quantized_kernel.h"

namespace calkit::exec {
namespace {

constexpr std::size_t kFirstAddend = 4;
constexpr std::size_t kRows = 64, kColumns = 256;  // of one block of sums
constexpr std::size_t kGrainProducts = 1u << 22;

/// One call: what to add, and where results go.
struct Job {
  const QuantizedLinear& linear;
  const Int8Rows& x;
  const float* scale = nullptr;
  std::vector<const Tensor*> addends;  ///< [N], or as large as y
  Tensor y;

  void block(std::size_t first, std::size_t rows, std::size_t begin, std::size_t end) {
    const std::size_t n = end - begin, all = linear.outputs();
    std::vector<float> values(rows * n), other(n);
    linear.multiply(x, scale, first, rows, begin, end, values.data());
    for (std::size_t row = 0; row < rows; ++row) {
      float* of_row = values.data() + row * n;
      for (const Tensor* addend : addends) {
        round_row(y.dtype(), of_row, n);
        const std::size_t at = addend->elements() == y.elements() ? (first + row) * all : 0;
        read_numbers(*addend, at + begin, n, other.data());
        for (std::size_t i = 0; i < n; ++i) of_row[i] += other[i];
      }
      write_numbers(y, (first + row) * all + begin, n, of_row);
    }
  }

  void columns(std::size_t begin, std::size_t end) {
    for (std::size_t first = 0; first < x.rows(); first += kRows)
      for (std::size_t at = begin; at < end; at += kColumns)
        block(first, std::min(kRows, x.rows() - first), at, std::min(end, at + kColumns));
  }
};

Status run_quantized_linear(const Call& call, const QuantizedLinear& linear, int threads) {
  CALKIT_TRY(const QuantizedRows from, read_quantized(call, linear.inputs()));
  CALKIT_TRY(const DType dtype, read_float_type(call));
  Shape shape = from.q->shape();
  shape.back() = static_cast<std::int64_t>(linear.outputs());
  std::vector<const Tensor*> addends;
  for (std::size_t i = kFirstAddend; i < call.inputs.size(); ++i) {
    CALKIT_TRY(const Tensor* addend, call.input(i));
    if (addend->dtype() != dtype || (addend->shape() != shape && addend->shape() != Shape{shape.back()}))
      return call.fault(i, tensor_text(*addend),
                        fmt::format("{} {} or [{}]", dtype_name(dtype), shape_text(shape), shape.back()));
    addends.push_back(addend);
  }
  CALKIT_TRY(Tensor y, call.out(0, dtype, shape));
  const Int8Rows x(best_integer_isa(), from.q->data<std::int8_t>().data(), from.rows, linear.inputs());
  Job job{linear, x, from.scale, std::move(addends), std::move(y)};
  const std::size_t products = std::max<std::size_t>(1, from.rows * linear.inputs());
  parallel_for(threads, linear.outputs(), kGrainProducts / products + 1,
               [&](std::size_t begin, std::size_t end) { job.columns(begin, end); });
  return {};
}

Status run_quantized_top_k(const Call& call, const QuantizedLinear& linear, int threads) {
  CALKIT_TRY(const QuantizedRows from, read_quantized(call, linear.inputs()));
  CALKIT_TRY(const DType dtype, read_float_type(call));
  CALKIT_TRY(const std::size_t k, read_k(call, static_cast<std::int64_t>(linear.outputs())));
  Heads heads(call, from.q->shape(), k, dtype);
  const Int8Rows x(best_integer_isa(), from.q->data<std::int8_t>().data(), from.rows, linear.inputs());
  const std::size_t products = std::max<std::size_t>(1, from.rows * linear.inputs());
  for (std::size_t first = 0; first < linear.outputs(); first += kHeadBlock) {
    const std::size_t n = std::min(kHeadBlock, linear.outputs() - first);
    std::vector<float> logits(from.rows * n);
    parallel_for(threads, n, kGrainProducts / products + 1, [&](std::size_t begin, std::size_t end) {
      std::vector<float> part((end - begin) * from.rows);
      linear.multiply(x, from.scale, 0, from.rows, first + begin, first + end, part.data());
      for (std::size_t row = 0; row < from.rows; ++row)
        std::copy_n(part.data() + row * (end - begin), end - begin, logits.data() + row * n + begin);
    });
    round_row(dtype, logits.data(), logits.size());
    CALKIT_CHECK_OK(heads.add(logits.data(), n, first));
  }
  return heads.write();
}

}  // namespace

void register_fused_quantized_linear(Registry& registry) {
  const char* names[] = {"calkit.fused:QuantizedLinear", "calkit.fused:QuantizedLinearAdd",
                         "calkit.fused:QuantizedLinearAddAdd"};
  for (std::size_t addends = 0; addends < 3; ++addends)
    registry[names[addends]] = {.min_inputs = kFirstAddend + addends,
                                .max_inputs = kFirstAddend + addends,
                                .attributes = {"to=i"},
                                .factory = &QuantizedKernel<&run_quantized_linear>::make,
                                .types = kTypeI8,
                                .native = kTypeI8,
                                .since = 23};
  registry["calkit.fused:QuantizedLinearTopK"] = {.min_inputs = 4,
                                                  .max_inputs = 4,
                                                  .attributes = {"to=i", "k=I"},
                                                  .factory = &QuantizedKernel<&run_quantized_top_k>::make,
                                                  .types = kTypeI8,
                                                  .native = kTypeI8,
                                                  .since = 23};
}

}  // namespace calkit::exec
