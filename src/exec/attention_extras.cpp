#include "attention_extras.h"

#include <fmt/format.h>

#include <cstring>

#include "dot.h"

namespace calkit::exec {

Status read_filled(const Call& call, AttentionCall& job, std::size_t keys) {
  if (call.optional(6) == nullptr) return {};
  CALKIT_TRY(const auto lengths, call.ints(6));
  if (call.optional(4) != nullptr) return call.fault(6, "both a past and lengths", "one of them");
  if (lengths.size() != job.batch)
    return call.fault(6, fmt::format("{} lengths", lengths.size()), fmt::format("{}", job.batch));
  for (std::size_t row = 0; row < job.batch; ++row) {
    if (lengths[row] < 0 || lengths[row] > static_cast<std::int64_t>(keys))
      return call.fault(6, fmt::format("length {}", lengths[row]), fmt::format("0 to {}", keys));
    job.filled.push_back(static_cast<std::size_t>(lengths[row]));
    job.offsets[row] = lengths[row] - static_cast<std::int64_t>(job.queries);
  }
  return {};
}

Status ScoresOutput::prepare(const Call& call, AttentionCall& job, std::size_t keys) {
  if (!call.names_output(3)) return {};
  const std::int64_t mode = call.node.int_or("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) return call.fault(fmt::format("qk_matmul_output_mode {}", mode), "0 to 3");
  const auto n = [](std::size_t v) { return static_cast<std::int64_t>(v); };
  CALKIT_TRY(y_, call.out(3, call.inputs[0]->dtype(), {n(job.batch), n(job.heads), n(job.queries), n(keys)}));
  CALKIT_TRY(wide_, Tensor::zeros(DType::kF32, y_->shape()));
  job.scores = wide_->mutable_data<float>().data();
  job.scores_mode = static_cast<int>(mode);
  return {};
}

void ScoresOutput::write() {
  if (!y_ || y_->bytes() == 0) return;
  if (y_->dtype() == DType::kF32)
    std::memcpy(y_->mutable_raw(), wide_->raw(), y_->bytes());
  else
    narrow(best_isa(), wide_->data<float>().data(), y_->mutable_data<BF16>().data(), y_->elements());
}

}  // namespace calkit::exec
