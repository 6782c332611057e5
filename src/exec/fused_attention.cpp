// calkit.fused: FlashAttention, RopeScatter and RopeScatterPast. Heads are turned while they are read or written.
#include <fmt/format.h>

#include <cstring>

#include "attention_operands.h"
#include "rotary_core.h"
#include "threaded_kernel.h"

namespace calkit::exec {
namespace {

// query, key, value, cos, sin, past_key, past_value; rotated, present_key, present_value.
constexpr std::size_t kCos = 3, kPastKey = 5, kPastValue = 6;

std::int64_t as_extent(std::size_t n) {
  return static_cast<std::int64_t>(n);
}

// Heads first in, tokens first out: [B, H, S, D] to [B, S, H * V].
Status run_flash_attention(const Call& call, int threads) {
  CALKIT_TRY(const Tensor* query, call.input(0));
  if (query->rank() != 4) return call.fault(0, tensor_text(*query), "rank 4");
  CALKIT_TRY(const Operand q, read_operand(call, 0, "", *query));
  CALKIT_TRY(const Operand k, read_operand(call, 1, "", *query));
  CALKIT_TRY(const Operand v, read_operand(call, 2, "", *query));
  CALKIT_CHECK_OK(check_heads(call, q, k, v));
  AttentionCall job;
  job.batch = static_cast<std::size_t>(query->dim(0));
  job.heads = q.heads;
  job.kv_heads = k.heads;
  job.queries = q.tokens;
  job.q = q.view;
  job.k = k.view;
  job.v = v.view;
  job.keys.assign(job.batch, k.tokens);
  job.offsets.assign(job.batch, 0);
  job.causal = call.node.int_or("is_causal", 0) != 0;
  job.scale = scale_of(call, q.view.width);
  const Shape shape = {query->dim(0), query->dim(2), as_extent(q.heads * v.view.width)};
  CALKIT_TRY(Tensor y, call.out(0, query->dtype(), shape));
  job.y = HeadView::of_merged(y, q.heads);
  attend(job, threads);
  return {};
}

/// One operand with its tokens first, [B, S, heads, width].
struct Tokens {
  const Tensor* tensor = nullptr;
  std::size_t batch = 0, length = 0, heads = 0, width = 0;
};

Result<Tokens> read_tokens(const Call& call, std::size_t index, const Tensor& like) {
  Tokens out;
  CALKIT_TRY(out.tensor, call.input(index));
  const Tensor& x = *out.tensor;
  if (x.rank() != 4 || like.rank() != 4 || x.dtype() != like.dtype() || x.dim(0) != like.dim(0) ||
      x.dim(1) != like.dim(1))
    return call.fault(index, tensor_text(x),
                      index == 0 ? "[B, S, heads, width]" : "the type, batch and tokens of " + tensor_text(like));
  out.batch = static_cast<std::size_t>(x.dim(0));
  out.length = static_cast<std::size_t>(x.dim(1));
  out.heads = static_cast<std::size_t>(x.dim(2));
  out.width = static_cast<std::size_t>(x.dim(3));
  return out;
}

/// The past of an operand, [B, heads, P, width], or nothing; P.
Result<std::size_t> read_past(const Call& call, std::size_t index, const Tokens& fresh) {
  if (call.inputs.size() <= index) return std::size_t{0};
  CALKIT_TRY(const Tensor* past, call.input(index));
  const bool fits = past->rank() == 4 && past->dtype() == fresh.tensor->dtype() &&
                    past->dim(0) == as_extent(fresh.batch) && past->dim(1) == as_extent(fresh.heads) &&
                    past->dim(3) == as_extent(fresh.width);
  if (!fits)
    return call.fault(
        index, tensor_text(*past),
        fmt::format("{} [{}, {}, P, {}]", dtype_name(fresh.tensor->dtype()), fresh.batch, fresh.heads, fresh.width));
  return static_cast<std::size_t>(past->dim(2));
}

/// Output `index`: heads first, `before` tokens of the past and then room for the new ones.
Result<Tensor> make_heads(const Call& call, std::size_t index, const Tokens& fresh, std::size_t before,
                          std::size_t past_index) {
  const Shape shape = {as_extent(fresh.batch), as_extent(fresh.heads), as_extent(before + fresh.length),
                       as_extent(fresh.width)};
  CALKIT_TRY(Tensor y, call.out(index, fresh.tensor->dtype(), shape));
  const std::size_t row = fresh.width * dtype_bytes(y.dtype()), block = before * row;
  if (block == 0) return y;
  const Tensor& past = *call.inputs[past_index];
  for (std::size_t head = 0; head < fresh.batch * fresh.heads; ++head)
    std::memcpy(y.mutable_raw() + head * (before + fresh.length) * row, past.raw() + head * block, block);
  return y;
}

/// Where the heads of `fresh` lie in it and in a tensor [B, heads, all, width].
Rotation turn_of(const Tokens& fresh, std::size_t all) {
  Rotation out;
  out.batch = fresh.batch;
  out.heads = fresh.heads;
  out.length = fresh.length;
  out.width = out.rotated = fresh.width;
  out.from = {fresh.length * fresh.heads * fresh.width, fresh.width, fresh.heads * fresh.width};
  out.to = {fresh.heads * all * fresh.width, all * fresh.width, fresh.width};
  return out;
}

/// The part of y from token `before` on.
Tensor behind(Tensor& y, std::size_t before, std::size_t width) {
  return Tensor::borrow(y.dtype(), y.shape(), y.raw() + before * width * dtype_bytes(y.dtype()), nullptr);
}

Status rotate_heads(const Call& call, const Tokens& fresh, std::size_t before, Tensor& y, std::size_t operand) {
  if (fresh.width % 2 != 0) return call.fault(operand, tensor_text(*fresh.tensor), "an even number of values a head");
  Rotation rotation = turn_of(fresh, before + fresh.length);
  CALKIT_CHECK_OK(read_tables(call, kCos, nullptr, rotation));
  Tensor to = behind(y, before, fresh.width);
  rotate_into(rotation, *call.inputs[kCos], *call.inputs[kCos + 1], *fresh.tensor, to);
  return {};
}

void turn_heads(const Tokens& fresh, std::size_t before, Tensor& y) {
  const std::size_t unit = dtype_bytes(y.dtype()), bytes = fresh.width * unit;
  const Rotation turn = turn_of(fresh, before + fresh.length);
  std::byte* to = y.mutable_raw() + before * bytes;
  for (std::size_t b = 0; bytes > 0 && b < turn.batch; ++b)
    for (std::size_t h = 0; h < turn.heads; ++h)
      for (std::size_t s = 0; s < turn.length; ++s)
        std::memcpy(to + (b * turn.to.batch + h * turn.to.head + s * turn.to.token) * unit,
                    fresh.tensor->raw() + (b * turn.from.batch + h * turn.from.head + s * turn.from.token) * unit,
                    bytes);
}

Status run_rope_scatter(const Call& call) {
  CALKIT_TRY(const Tensor* first, call.input(0));
  CALKIT_TRY(const Tokens query, read_tokens(call, 0, *first));
  CALKIT_TRY(const Tokens key, read_tokens(call, 1, *first));
  CALKIT_TRY(const Tokens value, read_tokens(call, 2, *first));
  CALKIT_TRY(const std::size_t key_past, read_past(call, kPastKey, key));
  CALKIT_TRY(const std::size_t value_past, read_past(call, kPastValue, value));
  CALKIT_TRY(Tensor rotated, make_heads(call, 0, query, 0, 0));
  CALKIT_CHECK_OK(rotate_heads(call, query, 0, rotated, 0));
  CALKIT_TRY(Tensor present_key, make_heads(call, 1, key, key_past, kPastKey));
  CALKIT_CHECK_OK(rotate_heads(call, key, key_past, present_key, 1));
  CALKIT_TRY(Tensor present_value, make_heads(call, 2, value, value_past, kPastValue));
  turn_heads(value, value_past, present_value);
  return {};
}

}  // namespace

void register_fused_attention(Registry& registry) {
  registry["calkit.fused:FlashAttention"] = {.min_inputs = 3,
                                             .max_inputs = 3,
                                             .attributes = {"scale=f", "is_causal=i"},
                                             .factory = &ThreadedKernel<&run_flash_attention>::make,
                                             .types = kFloat16Types,
                                             .native = kLinearTypes,
                                             .same = 0b111,
                                             .since = 23};
  Operator scatter = {.min_inputs = 5,
                      .max_inputs = 5,
                      .run = &run_rope_scatter,
                      .types = kFloat16Types,
                      .native = kLinearTypes,
                      .same = kEach,
                      .narrowed = 0b111,
                      .since = 23};
  registry["calkit.fused:RopeScatter"] = scatter;
  scatter.min_inputs = scatter.max_inputs = 7;
  registry["calkit.fused:RopeScatterPast"] = scatter;
}

}  // namespace calkit::exec
