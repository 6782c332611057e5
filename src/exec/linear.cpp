#include "linear.h"

#include <algorithm>
#include <vector>

#include "dnnl_shim.h"
#include "dot.h"
#include "parallel.h"

namespace calkit::exec {
namespace {

// Up to here our own row products win: reading the weights costs more than multiplying. It is also the largest number
// of rows for which a row's result is the same bits whatever the other rows are.
constexpr std::size_t kFewRows = 8;
constexpr std::size_t kRowsAtATime = 512;         // of activations, bounds the F32 copies
constexpr std::size_t kScratchBytes = 4u << 20;   // of widened weights
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

Status Linear::multiply(const std::byte* x, std::size_t m, std::byte* y) const {
  if (m == 0 || n_ == 0) return {};
  const bool bf16 = dtype() == DType::kBF16;
  const std::size_t bytes = dtype_bytes(dtype());
  std::vector<float> wide;
  for (std::size_t row = 0; row < m; row += kRowsAtATime) {
    const std::size_t rows = std::min(kRowsAtATime, m - row);
    const std::byte* from = x + row * k_ * bytes;
    std::byte* to = y + row * n_ * bytes;
    if (packed_) {
      CALKIT_CHECK_OK(packed(from, rows, to));
      continue;
    }
    const float* input = reinterpret_cast<const float*>(from);
    if (bf16) {
      wide.resize(rows * k_);
      widen(isa_, reinterpret_cast<const BF16*>(from), wide.data(), rows * k_);
      input = wide.data();
    }
    CALKIT_CHECK_OK(rows <= kFewRows ? few_rows(input, rows, to) : many_rows(input, rows, to));
  }
  return {};
}

Status Linear::packed(const std::byte* x, std::size_t m, std::byte* y) const {
  if (dtype() == DType::kF32) return packed_->multiply(x, m, reinterpret_cast<float*>(y));
  std::vector<float> sums(m * n_);
  CALKIT_CHECK_OK(packed_->multiply(x, m, sums.data()));
  narrow(isa_, sums.data(), reinterpret_cast<BF16*>(y), sums.size());
  return {};
}

Status Linear::few_rows(const float* x, std::size_t m, std::byte* y) const {
  const bool bf16 = dtype() == DType::kBF16;
  const Rows rows{w_.raw(), bf16, k_};
  std::vector<float> sums(bf16 ? m * n_ : 0);
  float* out = bf16 ? sums.data() : reinterpret_cast<float*>(y);
  parallel_for(threads_, n_, kGrainProducts / std::max<std::size_t>(1, m * k_),
               [&](std::size_t begin, std::size_t end) {
                 dot_rows(isa_, x, k_, m, rows.from(begin), end - begin, k_, out + begin, n_);
               });
  if (bf16) narrow(isa_, sums.data(), reinterpret_cast<BF16*>(y), sums.size());
  return {};
}

Status Linear::many_rows(const float* x, std::size_t m, std::byte* y) const {
  if (dtype() == DType::kF32)
    return dnnl_multiply(threads_, x, false, w_.data<float>().data(), true, m, n_, k_, reinterpret_cast<float*>(y));
  const std::size_t block =
      std::min(n_, std::max<std::size_t>(16, kScratchBytes / (sizeof(float) * std::max<std::size_t>(1, k_))));
  std::vector<float> wide(block * k_), sums(m * block);
  const BF16* weights = w_.data<BF16>().data();
  BF16* out = reinterpret_cast<BF16*>(y);
  for (std::size_t begin = 0; begin < n_; begin += block) {
    const std::size_t columns = std::min(block, n_ - begin);
    widen(isa_, weights + begin * k_, wide.data(), columns * k_);
    CALKIT_CHECK_OK(dnnl_multiply(threads_, x, false, wide.data(), true, m, columns, k_, sums.data()));
    for (std::size_t row = 0; row < m; ++row)
      narrow(isa_, sums.data() + row * columns, out + row * n_ + begin, columns);
  }
  return {};
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
