#include "minimise.h"

#include <algorithm>
#include <numeric>

namespace calkit::passes {

Result<std::vector<std::size_t>> minimise(std::size_t count,
                                          const std::function<Result<bool>(const std::vector<std::size_t>&)>& holds) {
  std::vector<std::size_t> left(count);
  std::iota(left.begin(), left.end(), 0u);
  for (std::size_t piece = std::max<std::size_t>(1, count / 2); left.size() > 1;) {
    bool smaller = false;
    for (std::size_t end = left.size(); end > 0;) {
      const std::size_t from = end > piece ? end - piece : 0;
      std::vector<std::size_t> without(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(from));
      without.insert(without.end(), left.begin() + static_cast<std::ptrdiff_t>(end), left.end());
      end = from;
      if (without.empty()) continue;
      CALKIT_TRY(const bool good, holds(without));
      if (!good) continue;
      left = std::move(without);
      smaller = true;
    }
    if (piece == 1 && !smaller) break;
    piece = std::max<std::size_t>(1, std::min(piece, left.size()) / 2);
  }
  return left;
}

}  // namespace calkit::passes
