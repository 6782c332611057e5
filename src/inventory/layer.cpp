#include "layer.h"

#include <algorithm>

namespace calkit::inventory {
namespace {

constexpr std::size_t kMaxNodes = 20'000, kMaxLength = 600, kMinLength = 3, kDrawn = 80;

}  // namespace

// With period p, kinds[i] == kinds[i + p] along a whole run. A run of matches of length r means about r / p + 1
// repetitions; two periods as one would cover as much with a shorter run, so the longest run has the true period. A run
// may fall short of a period by a quarter: the first or the last of two layers does a little more than the other.
Stretch find_stretch(const std::vector<std::uint32_t>& kinds) {
  const std::size_t size = std::min(kinds.size(), kMaxNodes);
  Stretch best{0, std::min(size, kDrawn), size == 0 ? 0u : 1u};
  std::vector<std::size_t> changes(size, 0);  // a stretch of one kind alone, such as a row of constants, is no layer
  for (std::size_t i = 1; i < size; ++i) changes[i] = changes[i - 1] + (kinds[i] != kinds[i - 1]);
  std::size_t best_run = 0;
  for (std::size_t period = kMinLength; period <= std::min(size / 2, kMaxLength); ++period) {
    std::size_t run = 0;
    for (std::size_t i = 0; i + period < size; ++i) {
      run = kinds[i] == kinds[i + period] ? run + 1 : 0;
      if (4 * run < 3 * period || run <= best_run) continue;
      if (changes[i] == changes[i + 1 - run]) continue;
      best_run = run;
      best = {i + 1 - run, period, (4 * run + period) / (4 * period) + 1};
    }
  }
  return best;
}

}  // namespace calkit::inventory
