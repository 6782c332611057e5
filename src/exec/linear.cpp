#include "linear.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "dnnl_shim.h"
#include "dot.h"
#include "parallel.h"

namespace calkit::exec {
namespace {

constexpr std::size_t kFewRows = 8;
constexpr std::size_t kRowsAtATime = 512;         // of activations, bounds the F32 copies
constexpr std::size_t kGrainProducts = 1u << 21;  // a thread is not worth starting for less

}  // namespace

Linear::Linear(Tensor w, int threads)
    : w_(std::move(w)),
      n_(static_cast<std::size_t>(w_.dim(0))),
      k_(static_cast<std::size_t>(w_.dim(1))),
      threads_(threads),
      isa_(best_isa()) {}
Linear::~Linear() = default;

Result<std::unique_ptr<Linear>> Linear::create(Tensor w, int threads, bool may_pack) {
  if (w.rank() != 2 || (w.dtype() != DType::kF32 && w.dtype() != DType::kBF16))
    return input_error("", "weights", shape_text(w.shape()), "f32 or bf16 of rank 2");
  std::unique_ptr<Linear> out(new Linear(std::move(w), threads));
  if (may_pack && dnnl_packs(out->dtype()) && out->n_ > 0 && out->k_ > 0) {
    CALKIT_TRY(out->packed_, PackedWeights::pack(out->dtype(), out->w_.raw(), out->n_, out->k_, threads));
  }
  return out;
}

std::uint64_t Linear::packed_bytes() const {
  return packed_ ? packed_->bytes() : 0;
}

Status Linear::multiply(const std::byte* x, std::size_t m, std::byte* y, const float* bias) const {
  if (m == 0 || n_ == 0) return {};
  const bool bf16 = dtype() == DType::kBF16;
  const std::size_t bytes = dtype_bytes(dtype());
  std::vector<float> wide;
  for (std::size_t row = 0; row < m; row += kRowsAtATime) {
    const std::size_t rows = std::min(kRowsAtATime, m - row);
    const std::byte* from = x + row * k_ * bytes;
    std::byte* to = y + row * n_ * bytes;
    if (packed_) {
      CALKIT_CHECK_OK(packed(from, rows, to, bias));
      continue;
    }
    const float* input = reinterpret_cast<const float*>(from);
    if (bf16) {
      wide.resize(rows * k_);
      widen(isa_, reinterpret_cast<const BF16*>(from), wide.data(), rows * k_);
      input = wide.data();
    }
    as_stored(input, rows, to, bias);
  }
  return {};
}

// The library may add in another order for another number of rows: few rows are always taken as kFewRows of them, so
// that a row's result does not depend on how many came with it.
Status Linear::packed(const std::byte* x, std::size_t m, std::byte* y, const float* bias) const {
  const bool bf16 = dtype() == DType::kBF16;
  const std::size_t rows = std::max(m, kFewRows), width = k_ * dtype_bytes(dtype());
  std::vector<std::byte> padded;
  if (rows > m) {
    padded.resize(rows * width);
    std::memcpy(padded.data(), x, m * width);
  }
  const bool direct = !bf16 && rows == m;
  std::vector<float> sums(direct ? 0 : rows * n_);
  float* out = direct ? reinterpret_cast<float*>(y) : sums.data();
  CALKIT_CHECK_OK(packed_->multiply(rows > m ? padded.data() : x, rows, out));
  if (bias != nullptr)
    for (std::size_t row = 0; row < m; ++row)
      for (std::size_t i = 0; i < n_; ++i) out[row * n_ + i] += bias[i];
  if (bf16)
    narrow(isa_, out, reinterpret_cast<BF16*>(y), m * n_);
  else if (!direct)
    std::memcpy(y, out, m * n_ * sizeof(float));
  return {};
}

void Linear::as_stored(const float* x, std::size_t m, std::byte* y, const float* bias) const {
  const bool bf16 = dtype() == DType::kBF16;
  const Rows rows{w_.raw(), bf16, k_};
  const auto columns = [&](std::size_t begin, std::size_t end) {
    const std::size_t n = end - begin;
    std::vector<float> sums(bf16 ? m * n : 0);
    float* out = bf16 ? sums.data() : reinterpret_cast<float*>(y) + begin;
    const std::size_t stride = bf16 ? n : n_;
    dot_rows(isa_, x, k_, m, rows.from(begin), n, k_, out, stride);
    for (std::size_t row = 0; row < m; ++row) {
      float* of_row = out + row * stride;
      if (bias != nullptr)
        for (std::size_t i = 0; i < n; ++i) of_row[i] += bias[begin + i];
      if (bf16) narrow(isa_, of_row, reinterpret_cast<BF16*>(y) + row * n_ + begin, n);
    }
  };
  parallel_for(threads_, n_, kGrainProducts / std::max<std::size_t>(1, m * k_), columns);
}

Result<std::shared_ptr<const Linear>> LinearCache::get(const Tensor& w, int threads) {
  if (w.rank() != 2) return input_error("", "weights", shape_text(w.shape()), "rank 2");
  const std::lock_guard lock(mutex_);
  auto& slot = known_[{w.raw(), w.dim(0), w.dim(1), w.dtype()}];
  if (auto known = slot.lock()) return known;
  CALKIT_TRY(auto made, Linear::create(w, threads));
  std::shared_ptr<const Linear> shared = std::move(made);
  slot = shared;
  return shared;
}

}  // namespace calkit::exec
