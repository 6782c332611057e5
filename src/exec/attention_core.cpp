#include "attention_core.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "activation.h"
#include "dot.h"
#include "parallel.h"

namespace calkit::exec {
namespace {

constexpr std::size_t kQueries = 6;  // that share one pass over the keys
constexpr std::size_t kGrainProducts = 1u << 21;
constexpr float kMasked = -std::numeric_limits<float>::infinity();

Rows rows_of(const HeadView& view, std::size_t batch, std::size_t head) {
  return {view.at(batch, head, 0), view.bf16, view.token_stride};
}

struct Query {
  std::size_t head = 0, token = 0;
  std::size_t first = 0, keys = 0;  ///< keys that it sees: from first up to keys
  std::size_t scored = 0;           ///< keys whose products are wanted
};

class Worker {
 public:
  explicit Worker(const AttentionCall& call) : call_(call), isa_(best_isa()) {}

  // All queries of the heads that share one K/V head, a few at a time.
  void run_group(std::size_t batch, std::size_t kv_head) {
    const std::size_t group = call_.heads / call_.kv_heads, all = group * call_.queries;
    for (std::size_t first = 0; first < all; first += kQueries) {
      Query block[kQueries];
      const std::size_t count = std::min(kQueries, all - first);
      for (std::size_t i = 0; i < count; ++i) {
        block[i].head = kv_head * group + (first + i) / call_.queries;
        block[i].token = (first + i) % call_.queries;
        look(batch, block[i]);
      }
      run_block(batch, kv_head, block, count);
    }
  }

 private:
  void look(std::size_t batch, Query& query) const {
    const std::size_t keys = call_.keys[batch];
    const std::int64_t place = call_.offsets[batch] + static_cast<std::int64_t>(query.token);
    const auto bound = [](std::int64_t at, std::size_t most) {
      return std::min(static_cast<std::size_t>(std::max<std::int64_t>(0, at)), most);
    };
    query.keys = keys;
    if (call_.causal) query.keys = bound(place + 1, query.keys);
    if (call_.right >= 0) query.keys = bound(place + call_.right + 1, query.keys);
    if (!call_.filled.empty()) query.keys = std::min(query.keys, call_.filled[batch]);
    query.first = call_.left >= 0 ? bound(place - call_.left, query.keys) : 0;
    query.scored = call_.scores != nullptr ? keys : query.keys;
  }

  void run_block(std::size_t batch, std::size_t kv_head, const Query* block, std::size_t count) {
    const std::size_t width = call_.q.width, out = call_.v.width;
    std::size_t longest = 0;
    for (std::size_t i = 0; i < count; ++i) longest = std::max(longest, block[i].scored);
    q_.resize(kQueries * width);
    y_.resize(kQueries * out);
    scores_.resize(kQueries * std::max<std::size_t>(1, longest));
    for (std::size_t i = 0; i < count; ++i)
      load(call_.q.at(batch, block[i].head, block[i].token), &q_[i * width], width);
    dot_rows(isa_, q_.data(), width, count, rows_of(call_.k, batch, kv_head), longest, width, scores_.data(), longest);
    for (std::size_t i = 0; i < count; ++i) {
      float* scores = &scores_[i * longest];
      to_probabilities(batch, block[i], scores);
      std::fill(scores + block[i].keys, scores + longest, 0.0f);
    }
    weighted_rows(isa_, scores_.data(), longest, count, longest, rows_of(call_.v, batch, kv_head), out, y_.data(), out);
    for (std::size_t i = 0; i < count; ++i) store(&y_[i * out], call_.y.at(batch, block[i].head, block[i].token), out);
  }

  // BF16: scores are rounded before and after the scale, softmax is F32 and rounded, as the peers do.
  void to_probabilities(std::size_t batch, const Query& query, float* scores) const {
    const bool round = call_.q.bf16;
    if (round) scale_and_round(isa_, scores, 1.0f, query.scored);
    if (round)
      scale_and_round(isa_, scores, call_.scale, query.scored);
    else
      for (std::size_t j = 0; j < query.scored; ++j) scores[j] *= call_.scale;
    tell(0, batch, query, scores);
    if (call_.softcap > 0)
      for (std::size_t j = 0; j < query.scored; ++j) scores[j] = std::tanh(scores[j] / call_.softcap) * call_.softcap;
    tell(1, batch, query, scores);
    if (call_.mask.tensor != nullptr) call_.mask.apply(batch, query.head, query.token, scores, query.scored);
    std::fill(scores, scores + query.first, kMasked);
    std::fill(scores + query.keys, scores + query.scored, kMasked);
    tell(2, batch, query, scores);
    softmax(isa_, scores, query.keys);
    std::fill(scores + query.keys, scores + query.scored, 0.0f);
    if (round) scale_and_round(isa_, scores, 1.0f, query.keys);
    tell(3, batch, query, scores);
  }

  void tell(int mode, std::size_t batch, const Query& query, const float* scores) const {
    if (call_.scores == nullptr || call_.scores_mode != mode) return;
    const std::size_t row = (batch * call_.heads + query.head) * call_.queries + query.token;
    std::copy_n(scores, query.scored, call_.scores + row * query.scored);
  }

  void store(const float* from, const std::byte* place, std::size_t width) const {
    std::byte* to = const_cast<std::byte*>(place);
    if (call_.y.bf16)
      narrow(isa_, from, reinterpret_cast<BF16*>(to), width);
    else
      std::copy_n(from, width, reinterpret_cast<float*>(to));
  }

  void load(const std::byte* from, float* to, std::size_t width) const {
    if (call_.q.bf16)
      widen(isa_, reinterpret_cast<const BF16*>(from), to, width);
    else
      std::copy_n(reinterpret_cast<const float*>(from), width, to);
  }

  const AttentionCall& call_;
  Isa isa_;
  std::vector<float> q_, scores_, y_;
};

}  // namespace

const std::byte* HeadView::at(std::size_t batch, std::size_t head, std::size_t token) const {
  const std::size_t element = batch * batch_stride + head * head_stride + token * token_stride;
  return data + element * (bf16 ? sizeof(BF16) : sizeof(float));
}

HeadView HeadView::of_heads(const Tensor& tensor) {
  HeadView view{tensor.raw(), tensor.dtype() == DType::kBF16, static_cast<std::size_t>(tensor.dim(3)), 0, 0, 0};
  view.token_stride = view.width;
  view.head_stride = view.width * static_cast<std::size_t>(tensor.dim(2));
  view.batch_stride = view.head_stride * static_cast<std::size_t>(tensor.dim(1));
  return view;
}

HeadView HeadView::of_merged(const Tensor& tensor, std::size_t heads) {
  const auto merged = static_cast<std::size_t>(tensor.dim(2));
  HeadView view{tensor.raw(), tensor.dtype() == DType::kBF16, merged / heads, 0, 0, 0};
  view.head_stride = view.width;
  view.token_stride = merged;
  view.batch_stride = merged * static_cast<std::size_t>(tensor.dim(1));
  return view;
}

void MaskView::apply(std::size_t batch, std::size_t head, std::size_t query, float* scores, std::size_t count) const {
  const std::size_t first = batch * strides[0] + head * strides[1] + query * strides[2];
  for (std::size_t j = 0; j < count; ++j) {
    const std::size_t at = first + j * strides[3];
    if (j >= keys)
      scores[j] = kMasked;
    else if (tensor->dtype() == DType::kBool)
      scores[j] = tensor->data<std::uint8_t>()[at] != 0 ? scores[j] : kMasked;
    else if (tensor->dtype() == DType::kBF16)
      scores[j] += to_float(tensor->data<BF16>()[at]);
    else
      scores[j] += tensor->data<float>()[at];
  }
}

void attend(const AttentionCall& call, int threads) {
  const std::size_t groups = call.batch * call.kv_heads;
  if (groups == 0 || call.queries == 0) return;
  const std::size_t products = (call.heads / call.kv_heads) * call.queries *
                               *std::max_element(call.keys.begin(), call.keys.end()) *
                               std::max<std::size_t>(1, call.q.width);
  parallel_for(threads, groups, kGrainProducts / std::max<std::size_t>(1, products) + 1,
               [&](std::size_t begin, std::size_t end) {
                 Worker worker(call);
                 for (std::size_t i = begin; i < end; ++i) worker.run_group(i / call.kv_heads, i % call.kv_heads);
               });
}

}  // namespace calkit::exec
