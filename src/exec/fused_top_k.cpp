#include "fused_top_k.h"

#include <fmt/format.h>

#include <algorithm>

#include "float_rows.h"

namespace calkit::exec {

Result<std::size_t> read_k(const Call& call, std::int64_t most) {
  const auto* k = call.node.attribute("k");
  if (k == nullptr || k->ints.size() != 1 || k->ints[0] < 0 || k->ints[0] > most)
    return call.fault(k == nullptr ? "no k" : fmt::format("k = {}", fmt::join(k->ints, ", ")),
                      fmt::format("one number from 0 to {}", most));
  return static_cast<std::size_t>(k->ints[0]);
}

Heads::Heads(const Call& call, Shape rows, std::size_t k, DType dtype)
    : call_(call), shape_(std::move(rows)), dtype_(dtype) {
  shape_.back() = static_cast<std::int64_t>(k);
  best_.assign(extent(shape_, 0, shape_.size() - 1), Best(k));
}

Status Heads::add(const float* logits, std::size_t n, std::size_t first) {
  if (std::any_of(logits, logits + rows() * n, [](float value) { return value != value; }))
    return call_.fault("a logit that is NaN", "numbers that can be ranked");
  for (std::size_t row = 0; row < rows(); ++row) best_[row].add(logits + row * n, n, static_cast<std::int64_t>(first));
  return {};
}

Status Heads::write() const {
  CALKIT_TRY(Tensor values, call_.out(0, dtype_, shape_));
  CALKIT_TRY(Tensor ids, call_.out(1, DType::kI64, shape_));
  std::size_t at = 0;
  for (const Best& row : best_)
    for (const Ranked& ranked : row.best()) {
      write_numbers(values, at, 1, &ranked.value);
      ids.mutable_data<std::int64_t>()[at++] = ranked.id;
    }
  return {};
}

}  // namespace calkit::exec
