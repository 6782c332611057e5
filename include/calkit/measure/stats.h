#pragma once
/// Percentiles, slopes and the leak judgement. One stated method each. Samples are finite numbers: where a NaN or an
/// infinity is among them there is no answer, never a wrong one.
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace calkit::measure {

/// Nearest rank (NumPy's inverted_cdf): the smallest sample with at least q of all samples <= it. nullopt for no
/// samples.
/// @param q in (0, 1]
std::optional<double> percentile(std::span<const double> samples, double q);

struct Summary {
  std::size_t n = 0;
  std::optional<double> mean, min, p50, p90, p99, max;
};
Summary summarize(std::span<const double> samples);

/// Theil-Sen slope of y over x: the median of the slopes of all pairs, with one-sided 95 % bounds from the ranks of
/// those slopes (Sen 1968, variance corrected for ties in y).
struct Slope {
  double slope = 0;
  double lower = 0;  ///< 95 % one-sided lower bound; -infinity where there are too few samples for one
  double upper = 0;  ///< 95 % one-sided upper bound; +infinity likewise
};
/// nullopt for fewer than two distinct x. Above 2048 samples every k-th is used, evenly spaced: the work is quadratic.
std::optional<Slope> theil_sen(std::span<const double> x, std::span<const double> y);

enum class LeakVerdict { kPass, kLeak, kInconclusive };

/// A sample that stands away from the one before it and stays there: the level changed once.
struct Jump {
  std::size_t cycle = 0;    ///< 1-based: the first cycle on the new level
  double from = 0, to = 0;  ///< medians of the samples before and from that cycle on, warm-up left out
};
struct LeakJudgement {
  LeakVerdict verdict = LeakVerdict::kInconclusive;
  std::optional<Slope> slope;       ///< unit per cycle, all samples behind the warm-up
  std::optional<Slope> late_slope;  ///< the same of the later half
  std::optional<double> level;      ///< median of the later half
  std::optional<Jump> jump;         ///< the largest one, if one stands out; explains a high level that does not grow
  std::string reason;
};
/// Fewest samples (warm-up included) that a verdict other than inconclusive needs.
inline constexpr std::size_t kMinCycles = 30;

/// One quiescent sample per cycle: drops the first `warmup`; leak if the lower bound of the slope exceeds `budget` per
/// cycle over all the rest and over its later half (memory that rose once and stays is no leak); pass if it does not.
/// Fewer than kMinCycles samples, or one that is not finite, are inconclusive.
LeakJudgement judge_cycles(std::span<const double> samples, double budget, std::size_t warmup = 3);

}  // namespace calkit::measure
