#pragma once
/// Percentiles and slopes. One stated method each.
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace calkit::measure {

/// Nearest rank (NumPy's inverted_cdf): the smallest sample with at least q of all samples <= it. nullopt for no samples.
/// @param q in (0, 1]
std::optional<double> percentile(std::span<const double> samples, double q);

struct Summary {
  std::size_t n = 0;
  std::optional<double> mean, min, p50, p90, p99, max;
};
Summary summarize(std::span<const double> samples);

/// Theil-Sen slope of y over x with a one-sided lower confidence bound from the ranks of the pairwise slopes.
struct Slope {
  double slope = 0;
  double lower = 0;  ///< 95 % one-sided lower bound (Sen 1968)
  double upper = 0;
};
std::optional<Slope> theil_sen(std::span<const double> x, std::span<const double> y);

enum class LeakVerdict { kPass, kLeak, kInconclusive };
struct LeakJudgement {
  LeakVerdict verdict = LeakVerdict::kInconclusive;
  std::optional<Slope> slope;  ///< unit per cycle
  std::string reason;
};
/// One quiescent sample per cycle: drops the first `warmup`, leak if the lower bound exceeds `budget` per cycle,
/// pass if at least 30 samples (warm-up included) were taken and it does not; fewer are inconclusive.
LeakJudgement judge_cycles(std::span<const double> samples, double budget, std::size_t warmup = 3);

}  // namespace calkit::measure
