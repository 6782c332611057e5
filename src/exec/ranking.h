#pragma once
/// The largest of many numbers, larger ones first, and of equal ones the lower id, as TopK has them.
#include <algorithm>
#include <cstdint>
#include <vector>

namespace calkit::exec {

struct Ranked {
  float value = 0;
  std::int64_t id = 0;
};
inline bool ranks_before(const Ranked& a, const Ranked& b) {
  return a.value != b.value ? a.value > b.value : a.id < b.id;
}

/// Takes the numbers of a row in ascending order of their ids, a block at a time, and keeps the k best. None is NaN.
class Best {
 public:
  explicit Best(std::size_t k) : k_(k) {}

  void add(const float* values, std::size_t count, std::int64_t first) {
    // An equal number has a higher id than those that are there: it comes behind them.
    const bool full = best_.size() == k_;
    const float least = full && k_ > 0 ? best_.back().value : 0;
    for (std::size_t i = 0; k_ > 0 && i < count; ++i)
      if (!full || values[i] > least) best_.push_back({values[i], first + static_cast<std::int64_t>(i)});
    const std::size_t kept = std::min(k_, best_.size());
    std::partial_sort(best_.begin(), best_.begin() + static_cast<std::ptrdiff_t>(kept), best_.end(), ranks_before);
    best_.resize(kept);
  }
  const std::vector<Ranked>& best() const { return best_; }

 private:
  std::size_t k_;
  std::vector<Ranked> best_;
};

}  // namespace calkit::exec
