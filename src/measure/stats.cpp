#include "calkit/measure/stats.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace calkit::measure {
namespace {

bool all_finite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

/// The smallest k with k / n >= q, computed without trusting the rounding of q * n.
std::size_t rank_of(double q, std::size_t n) {
  const auto count = static_cast<double>(n);
  auto k = static_cast<std::size_t>(std::clamp(std::ceil(q * count), 1.0, count));
  if (k > 1 && static_cast<double>(k - 1) / count >= q) --k;
  return k;
}

double ranked(const std::vector<double>& sorted, double q) {
  return sorted[rank_of(q, sorted.size()) - 1];
}

/// The variance of Kendall's S with ties in y.
double variance_of_s(std::vector<double> y) {
  const auto term = [](double n) { return n * (n - 1) * (2 * n + 5); };
  std::sort(y.begin(), y.end());
  double sum = term(static_cast<double>(y.size()));
  for (std::size_t begin = 0; begin < y.size();) {
    std::size_t end = begin;
    while (end < y.size() && y[end] == y[begin]) ++end;
    sum -= term(static_cast<double>(end - begin));
    begin = end;
  }
  return sum / 18;
}

}  // namespace

std::optional<double> percentile(std::span<const double> samples, double q) {
  assert(q > 0 && q <= 1);
  if (samples.empty() || !all_finite(samples)) return std::nullopt;
  std::vector<double> sorted(samples.begin(), samples.end());
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(rank_of(q, sorted.size()) - 1);
  std::nth_element(sorted.begin(), at, sorted.end());
  return *at;
}

Summary summarize(std::span<const double> samples) {
  Summary out;
  out.n = samples.size();
  if (samples.empty() || !all_finite(samples)) return out;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  double sum = 0;
  for (const double v : sorted) sum += v;
  out.mean = sum / static_cast<double>(sorted.size());
  out.min = sorted.front();
  out.p50 = ranked(sorted, 0.5);
  out.p90 = ranked(sorted, 0.9);
  out.p99 = ranked(sorted, 0.99);
  out.max = sorted.back();
  return out;
}

std::optional<Slope> theil_sen(std::span<const double> x, std::span<const double> y) {
  assert(x.size() == y.size());
  constexpr std::size_t kMaxSamples = 2048;
  constexpr double kZ95 = 1.6448536269514722;  // one-sided 95 % of the normal distribution
  if (!all_finite(x) || !all_finite(y)) return std::nullopt;
  const std::size_t step = (x.size() + kMaxSamples - 1) / kMaxSamples;
  std::vector<double> xs, ys;
  for (std::size_t i = 0; i < x.size(); i += step) {
    xs.push_back(x[i]);
    ys.push_back(y[i]);
  }
  std::vector<double> slopes;
  slopes.reserve(xs.size() * (xs.size() + 1) / 2);
  for (std::size_t i = 0; i < xs.size(); ++i)
    for (std::size_t j = i + 1; j < xs.size(); ++j)
      if (xs[i] != xs[j]) slopes.push_back((ys[j] - ys[i]) / (xs[j] - xs[i]));
  if (slopes.empty()) return std::nullopt;
  std::sort(slopes.begin(), slopes.end());
  const std::size_t n = slopes.size();
  Slope out;
  out.slope = n % 2 == 1 ? slopes[n / 2] : (slopes[n / 2 - 1] + slopes[n / 2]) / 2;
  // Sen: the M1-th smallest and the M1-th largest slope, M1 = (N - z * sqrt(var S)) / 2, rounded down to the safe side.
  const double m1 = std::floor((static_cast<double>(n) - kZ95 * std::sqrt(variance_of_s(ys))) / 2);
  out.lower = m1 < 1 ? -std::numeric_limits<double>::infinity() : slopes[static_cast<std::size_t>(m1) - 1];
  out.upper = m1 < 1 ? std::numeric_limits<double>::infinity() : slopes[n - static_cast<std::size_t>(m1)];
  return out;
}

}  // namespace calkit::measure
