// Attention (opset 23) and calkit:CacheAttention: operands are checked here, attention_core.cpp computes.
#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "attention_extras.h"
#include "attention_operands.h"
#include "threaded_kernel.h"

namespace calkit::exec {
namespace {

constexpr std::int64_t kMaxWindow = std::int64_t{1} << 40;

// Copies `tokens` vectors of each head of one batch row, to token `first` and on.
void copy_tokens(const HeadView& from, std::size_t heads, std::size_t tokens, const HeadView& to, std::size_t first,
                 std::size_t row) {
  const std::size_t bytes = from.width * (from.bf16 ? sizeof(BF16) : sizeof(float));
  for (std::size_t head = 0; head < heads; ++head)
    for (std::size_t token = 0; token < tokens; ++token)
      std::memcpy(const_cast<std::byte*>(to.at(row, head, first + token)), from.at(row, head, token), bytes);
}

// past + new tokens as one tensor [B, heads, P + S, width]: output `index` if the node names it, else a temporary.
Result<Tensor> join_past(const Call& call, std::size_t index, const Tensor* past, std::size_t past_index,
                         const Operand& fresh, std::size_t batch, DType dtype) {
  std::size_t before = 0;
  const auto n = [](std::size_t v) { return static_cast<std::int64_t>(v); };
  if (past != nullptr) {
    if (past->rank() != 4 || past->dtype() != dtype || past->dim(0) != n(batch) || past->dim(1) != n(fresh.heads) ||
        past->dim(3) != n(fresh.view.width))
      return call.fault(past_index, tensor_text(*past),
                        fmt::format("{} [{}, {}, P, {}]", dtype_name(dtype), batch, fresh.heads, fresh.view.width));
    before = static_cast<std::size_t>(past->dim(2));
  }
  const Shape shape = {n(batch), n(fresh.heads), n(before + fresh.tokens), n(fresh.view.width)};
  const bool named = index < call.node.outputs.size() && !call.node.outputs[index].empty();
  CALKIT_TRY(Tensor joined, named ? call.out(index, dtype, shape) : Tensor::zeros(dtype, shape));
  const HeadView to = HeadView::of_heads(joined);
  for (std::size_t row = 0; row < batch; ++row) {
    if (past != nullptr) copy_tokens(HeadView::of_heads(*past), fresh.heads, before, to, 0, row);
    copy_tokens(fresh.view, fresh.heads, fresh.tokens, to, before, row);
  }
  return joined;
}

Result<MaskView> read_mask(const Call& call, const AttentionCall& job, std::size_t keys) {
  MaskView mask;
  mask.tensor = call.optional(3);
  if (mask.tensor == nullptr) return mask;
  const Tensor& tensor = *mask.tensor;
  if (tensor.dtype() != DType::kBool && tensor.dtype() != (job.q.bf16 ? DType::kBF16 : DType::kF32))
    return call.fault(3, tensor_text(tensor), "bool, or the type of Q");
  const std::size_t wanted[4] = {job.batch, job.heads, job.queries, keys};
  const auto strides = strides_of(tensor.shape());
  bool fits = tensor.rank() >= 1 && tensor.rank() <= 4;
  for (std::size_t axis = 0; fits && axis < tensor.rank(); ++axis) {
    const std::size_t full = 4 - tensor.rank() + axis;
    const auto size = static_cast<std::size_t>(tensor.shape()[axis]);
    const bool last = full == 3;
    fits = last ? size <= keys : size == 1 || size == wanted[full];
    mask.strides[full] = size == 1 && !last ? 0 : strides[axis];
  }
  if (!fits)
    return call.fault(
        3, tensor_text(tensor),
        fmt::format("a shape that broadcasts to [{}, {}, {}, {}]", job.batch, job.heads, job.queries, keys));
  mask.keys = static_cast<std::size_t>(tensor.dim(-1));
  return mask;
}

Status run_attention(const Call& call, int threads) {
  CALKIT_TRY(const Tensor* first, call.input(0));
  CALKIT_TRY(const Operand q, read_operand(call, 0, "q_num_heads", *first));
  CALKIT_TRY(const Operand k, read_operand(call, 1, "kv_num_heads", *first));
  CALKIT_TRY(const Operand v, read_operand(call, 2, "kv_num_heads", *first));
  CALKIT_CHECK_OK(check_heads(call, q, k, v));
  const Tensor *past_key = call.optional(4), *past_value = call.optional(5);
  if ((past_key == nullptr) != (past_value == nullptr))
    return call.fault("one of past_key and past_value", "both or none");
  if (past_key != nullptr && past_key->rank() == 4 && past_value->rank() == 4 && past_key->dim(2) != past_value->dim(2))
    return call.fault(5, tensor_text(*past_value), "as many tokens as " + tensor_text(*past_key));

  AttentionCall job;
  job.batch = static_cast<std::size_t>(first->dim(0));
  job.heads = q.heads;
  job.kv_heads = k.heads;
  job.queries = q.tokens;
  job.q = q.view;
  job.k = k.view;
  job.v = v.view;
  std::size_t before = 0;
  std::optional<Tensor> keys, values;  // what job.k and job.v look at
  if (past_key != nullptr || call.names_output(1) || call.names_output(2)) {
    CALKIT_TRY(keys, join_past(call, 1, past_key, 4, k, job.batch, first->dtype()));
    CALKIT_TRY(values, join_past(call, 2, past_value, 5, v, job.batch, first->dtype()));
    job.k = HeadView::of_heads(*keys);
    job.v = HeadView::of_heads(*values);
    before = static_cast<std::size_t>(keys->dim(2)) - k.tokens;
  }
  job.keys.assign(job.batch, before + k.tokens);
  job.offsets.assign(job.batch, static_cast<std::int64_t>(before));
  CALKIT_CHECK_OK(read_filled(call, job, before + k.tokens));
  job.left = call.node.int_or("left_window_size", -1);
  job.right = call.node.int_or("right_window_size", -1);
  if (job.left < -1 || job.left > kMaxWindow || job.right < -1 || job.right > kMaxWindow)
    return call.fault(fmt::format("windows {} and {}", job.left, job.right), "-1 or more");
  job.causal = call.node.int_or("is_causal", 0) != 0;
  job.scale = scale_of(call, q.view.width);
  job.softcap = call.node.float_or("softcap", 0.0f);
  CALKIT_TRY(job.mask, read_mask(call, job, before + k.tokens));
  Shape shape = first->shape();
  shape.back() = static_cast<std::int64_t>(first->rank() == 4 ? v.view.width : v.view.width * q.heads);
  CALKIT_TRY(Tensor y, call.out(0, first->dtype(), shape));
  job.y = first->rank() == 4 ? HeadView::of_heads(y) : HeadView::of_merged(y, q.heads);
  ScoresOutput scores;
  CALKIT_CHECK_OK(scores.prepare(call, job, before + k.tokens));
  attend(job, threads);
  scores.write();
  return {};
}

// The caches are operands that the operator writes: [B, KVH, C, D] of the type of q.
Status check_cache(const Call& call, std::size_t index, const Operand& fresh, const Tensor& q) {
  CALKIT_TRY(const Tensor* cache, call.input(index));
  const bool fits = cache->rank() == 4 && cache->dtype() == q.dtype() && cache->dim(0) == q.dim(0) &&
                    cache->dim(1) == static_cast<std::int64_t>(fresh.heads) &&
                    cache->dim(3) == static_cast<std::int64_t>(fresh.view.width);
  if (fits) return {};
  return call.fault(index, tensor_text(*cache),
                    fmt::format("{} [{}, {}, C, {}]", dtype_name(q.dtype()), q.dim(0), fresh.heads, fresh.view.width));
}

Status run_cache_attention(const Call& call, int threads) {
  CALKIT_TRY(const Tensor* first, call.input(0));
  if (first->rank() != 4) return call.fault(0, tensor_text(*first), "rank 4");
  CALKIT_TRY(const Operand q, read_operand(call, 0, "", *first));
  CALKIT_TRY(const Operand k, read_operand(call, 1, "", *first));
  CALKIT_TRY(const Operand v, read_operand(call, 2, "", *first));
  CALKIT_CHECK_OK(check_heads(call, q, k, v));
  if (k.tokens != q.tokens)
    return call.fault(1, fmt::format("{} tokens", k.tokens), fmt::format("{} as q has", q.tokens));
  CALKIT_CHECK_OK(check_cache(call, 3, k, *first));
  CALKIT_CHECK_OK(check_cache(call, 4, v, *first));
  CALKIT_TRY(const auto past, call.ints(5));
  const Tensor &k_cache = *call.inputs[3], &v_cache = *call.inputs[4];
  const std::int64_t capacity = std::min(k_cache.dim(2), v_cache.dim(2));

  AttentionCall job;
  job.batch = static_cast<std::size_t>(first->dim(0));
  if (past.size() != job.batch)
    return call.fault(5, fmt::format("{} numbers", past.size()), fmt::format("{}", job.batch));
  job.heads = q.heads;
  job.kv_heads = k.heads;
  job.queries = q.tokens;
  job.q = q.view;
  job.k = HeadView::of_heads(k_cache);
  job.v = HeadView::of_heads(v_cache);
  const auto fresh = static_cast<std::int64_t>(q.tokens);
  for (const std::int64_t before : past) {
    if (before < 0 || before > capacity - fresh)
      return call.fault(5, fmt::format("past {} and {} new tokens", before, fresh),
                        fmt::format("{} in the cache", capacity));
    job.offsets.push_back(before);
    job.keys.push_back(static_cast<std::size_t>(before) + q.tokens);
  }
  job.causal = true;
  job.scale = scale_of(call, q.view.width);
  CALKIT_TRY(Tensor y, call.out(0, first->dtype(), {first->dim(0), first->dim(1), first->dim(2), v_cache.dim(3)}));
  job.y = HeadView::of_heads(y);
  for (std::size_t row = 0; row < job.batch; ++row) {
    const auto at = static_cast<std::size_t>(job.offsets[row]);
    copy_tokens(k.view, k.heads, k.tokens, job.k, at, row);
    copy_tokens(v.view, v.heads, v.tokens, job.v, at, row);
  }
  attend(job, threads);
  return {};
}

}  // namespace

void register_attention(Registry& registry) {
  registry[":Attention"] = {
      .min_inputs = 3,
      .max_inputs = 7,
      .attributes = {"is_causal=i", "kv_num_heads=i", "q_num_heads=i", "scale=f", "softcap=f", "softmax_precision=i",
                     "qk_matmul_output_mode=i", "left_window_size=i>=25", "right_window_size=i>=25"},
      .factory = &ThreadedKernel<&run_attention>::make,
      .types = kFloat16Types,
      .native = kLinearTypes,
      .same = 0b110111,
      .narrowed = 0b1111,
      .since = 23};
  registry["calkit:CacheAttention"] = {.min_inputs = 6,
                                       .max_inputs = 6,
                                       .attributes = {"scale=f"},
                                       .factory = &ThreadedKernel<&run_cache_attention>::make,
                                       .types = kLinearTypes,
                                       .native = kLinearTypes};
}

}  // namespace calkit::exec
