// calkit.fused: Dispatch, RouterTopK, RouterTopKScaled and CombineAdd, around the experts of a layer.
#include <fmt/format.h>

#include <cstring>

#include "float_rows.h"
#include "fused_top_k.h"
#include "quantized_linear.h"
#include "softmax.h"

namespace calkit::exec {
namespace {

// [..., H] as rows [T, H] and as columns [T, 1, H, 1].
Status run_dispatch(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  if (x->rank() == 0 || x->dim(-1) == 0) return call.fault(0, tensor_text(*x), "a last axis that is not empty");
  const std::int64_t width = x->dim(-1), rows = static_cast<std::int64_t>(extent(x->shape(), 0, x->rank() - 1));
  const Shape shapes[] = {{rows, width}, {rows, 1, width, 1}};
  for (std::size_t i = 0; i < 2; ++i) {
    if (!call.names_output(i)) continue;
    CALKIT_TRY(Tensor y, call.out(i, x->dtype(), shapes[i]));
    if (y.bytes() > 0) std::memcpy(y.mutable_raw(), x->raw(), y.bytes());
  }
  return {};
}

/// The best of one row of probabilities; `scaled`: their sum becomes 1.
Result<std::vector<Ranked>> choose(const Call& call, const std::vector<float>& probabilities, std::size_t k,
                                   bool scaled) {
  for (const float value : probabilities)
    if (value != value) return call.fault(0, "NaN", "numbers that can be ranked");
  Best best(k);
  best.add(probabilities.data(), probabilities.size(), 0);
  std::vector<Ranked> out = best.best();
  float sum = 0;
  for (const Ranked& chosen : out) sum += chosen.value;
  if (scaled)
    for (Ranked& chosen : out) chosen.value /= sum;
  return out;
}

template <bool kScaled>
Status run_router(const Call& call) {
  CALKIT_TRY(const Tensor* logits, call.input(0));
  if (!has_type(kFloat16Types, logits->dtype()) || logits->rank() == 0)
    return call.fault(0, tensor_text(*logits), types_text(kFloat16Types) + " of rank 1 or more");
  CALKIT_TRY(const DType dtype, read_float_type(call));
  CALKIT_TRY(const std::size_t k, read_k(call, logits->dim(-1)));
  Shape shape = logits->shape();
  shape.back() = static_cast<std::int64_t>(k);
  CALKIT_TRY(Tensor weights, call.out(0, dtype, shape));
  CALKIT_TRY(Tensor experts, call.out(1, DType::kI64, shape));
  const auto width = static_cast<std::size_t>(logits->dim(-1));
  const std::size_t rows = width == 0 ? 0 : logits->elements() / width;
  std::vector<float> row(width), values(k);
  for (std::size_t i = 0; i < rows; ++i) {
    read_numbers(*logits, i * width, width, row.data());
    softmax_row(row);
    CALKIT_TRY(const auto chosen, choose(call, row, k, kScaled));
    for (std::size_t j = 0; j < k; ++j) {
      values[j] = chosen[j].value;
      experts.mutable_data<std::int64_t>()[i * k + j] = chosen[j].id;
    }
    write_numbers(weights, i * k, k, values.data());
  }
  return {};
}

struct Combination {
  const Tensor *answers = nullptr, *weights = nullptr, *residual = nullptr;
  std::size_t rows = 0, choices = 0, width = 0;
};

// answers [T, k, H, 1], weights [T, k], residual of T * H numbers.
Result<Combination> read_combination(const Call& call) {
  Combination out;
  CALKIT_TRY(out.answers, call.input(0));
  CALKIT_TRY(out.weights, call.input(1));
  CALKIT_TRY(out.residual, call.input(2));
  const Tensor& answers = *out.answers;
  if (!has_type(kFloat16Types, answers.dtype()) || answers.rank() != 4 || answers.dim(3) != 1)
    return call.fault(0, tensor_text(answers), types_text(kFloat16Types) + " [T, k, H, 1]");
  if (out.weights->dtype() != answers.dtype() || out.weights->shape() != Shape{answers.dim(0), answers.dim(1)})
    return call.fault(1, tensor_text(*out.weights),
                      fmt::format("{} [{}, {}]", dtype_name(answers.dtype()), answers.dim(0), answers.dim(1)));
  out.rows = static_cast<std::size_t>(answers.dim(0));
  out.choices = static_cast<std::size_t>(answers.dim(1));
  out.width = static_cast<std::size_t>(answers.dim(2));
  if (out.residual->dtype() != answers.dtype() || out.residual->elements() != out.rows * out.width)
    return call.fault(2, tensor_text(*out.residual),
                      fmt::format("{} of {} x {} numbers", dtype_name(answers.dtype()), out.rows, out.width));
  return out;
}

// Products are rounded; they are added up in F32; the sum is rounded, then the sum with the residual.
Status run_combine(const Call& call) {
  CALKIT_TRY(const Combination all, read_combination(call));
  const DType dtype = all.answers->dtype();
  CALKIT_TRY(Tensor y, call.out(0, dtype, all.residual->shape()));
  const std::size_t width = all.width;
  std::vector<float> factors(all.choices), answer(width), sum(width);
  for (std::size_t row = 0; row < all.rows; ++row) {
    read_numbers(*all.weights, row * all.choices, all.choices, factors.data());
    std::fill(sum.begin(), sum.end(), 0.0f);
    for (std::size_t j = 0; j < all.choices; ++j) {
      read_numbers(*all.answers, (row * all.choices + j) * width, width, answer.data());
      for (float& value : answer) value *= factors[j];
      round_row(dtype, answer.data(), width);
      for (std::size_t i = 0; i < width; ++i) sum[i] += answer[i];
    }
    round_row(dtype, sum.data(), width);
    read_numbers(*all.residual, row * width, width, answer.data());
    for (std::size_t i = 0; i < width; ++i) sum[i] = answer[i] + sum[i];
    write_numbers(y, row * width, width, sum.data());
  }
  return {};
}

}  // namespace

void register_fused_experts(Registry& registry) {
  registry["calkit.fused:Dispatch"] = {
      .min_inputs = 1, .max_inputs = 1, .run = &run_dispatch, .narrowed = 0, .since = 23};
  Operator router = {.min_inputs = 1,
                     .max_inputs = 1,
                     .attributes = {"k=I", "to=i"},
                     .run = &run_router<false>,
                     .types = kFloat16Types,
                     .native = kFloat16Types,
                     .narrowed = 0,
                     .since = 23};
  registry["calkit.fused:RouterTopK"] = router;
  router.run = &run_router<true>;
  registry["calkit.fused:RouterTopKScaled"] = router;
  registry["calkit.fused:CombineAdd"] = {.min_inputs = 3,
                                         .max_inputs = 3,
                                         .run = &run_combine,
                                         .types = kFloat16Types,
                                         .native = kFloat16Types,
                                         .same = kEach,
                                         .since = 23};
}

}  // namespace calkit::exec
