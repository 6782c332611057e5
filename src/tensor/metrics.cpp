#include "calkit/tensor/metrics.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace calkit {

Closeness compare(std::span<const float> got, std::span<const float> want) {
  assert(got.size() == want.size());
  Closeness out;
  out.count = got.size();
  double difference = 0, reference = 0, product = 0, produced = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!std::isfinite(got[i]) || !std::isfinite(want[i])) {
      ++out.non_finite;
      continue;
    }
    const double a = got[i], b = want[i], d = a - b;
    difference += d * d;
    reference += b * b;
    produced += a * a;
    product += a * b;
    if (std::fabs(d) > out.max_abs) {
      out.max_abs = std::fabs(d);
      out.max_abs_index = i;
    }
  }
  if (reference > 0) out.nmse = difference / reference;
  if (reference > 0 && produced > 0) out.cosine = product / (std::sqrt(reference) * std::sqrt(produced));
  return out;
}

std::vector<std::int32_t> top_k(std::span<const float> values, std::size_t k) {
  std::vector<std::int32_t> order;
  order.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isnan(values[i])) order.push_back(static_cast<std::int32_t>(i));
  const std::size_t kept = std::min(k, order.size());
  const auto before = [&](std::int32_t a, std::int32_t b) {
    const float x = values[static_cast<std::size_t>(a)], y = values[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(), before);
  order.resize(kept);
  return order;
}

double top_k_overlap(std::span<const float> got, std::span<const float> want, std::size_t k) {
  std::vector<std::int32_t> a = top_k(got, k), b = top_k(want, k);
  const std::size_t asked = std::min(k, want.size());
  if (asked == 0) return 0;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  std::vector<std::int32_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return static_cast<double>(both.size()) / static_cast<double>(asked);
}

}  // namespace calkit
