#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "calkit/measure/stats.h"

namespace calkit::measure {
namespace {

double median(std::span<const double> values) {
  return percentile(values, 0.5).value_or(0);
}

std::optional<Slope> slope_per_cycle(std::span<const double> samples) {
  std::vector<double> cycles(samples.size());
  std::iota(cycles.begin(), cycles.end(), 0.0);
  return theil_sen(cycles, samples);
}

/// The cycle where the level changes most, if that change stands out from what neighbours usually differ by.
std::optional<Jump> find_jump(std::span<const double> samples, std::size_t first_cycle) {
  constexpr double kStandsOut = 8;  // times the median difference of neighbours
  std::vector<double> steps;
  for (std::size_t i = 1; i < samples.size(); ++i) steps.push_back(std::fabs(samples[i] - samples[i - 1]));
  if (steps.empty()) return std::nullopt;
  const auto largest = std::max_element(steps.begin(), steps.end());
  const std::size_t at = static_cast<std::size_t>(largest - steps.begin()) + 1;
  const double usual = median(steps);
  const double from = median(samples.first(at)), to = median(samples.subspan(at));
  // An outlier that falls back is no jump: the medians on both sides must differ as much.
  if (*largest == 0 || *largest < kStandsOut * usual || std::fabs(to - from) < *largest / 2) return std::nullopt;
  return Jump{first_cycle + at, from, to};
}

}  // namespace

LeakJudgement judge_cycles(std::span<const double> samples, double budget, std::size_t warmup) {
  LeakJudgement out;
  if (!std::all_of(samples.begin(), samples.end(), [](double v) { return std::isfinite(v); })) {
    out.reason = "a sample is not a finite number";
    return out;
  }
  const auto rest = samples.subspan(std::min(warmup, samples.size()));
  const auto late = rest.subspan(rest.size() / 2);
  out.slope = slope_per_cycle(rest);
  out.late_slope = slope_per_cycle(late);
  if (!late.empty()) out.level = median(late);
  out.jump = find_jump(rest, std::min(warmup, samples.size()) + 1);
  if (samples.size() < kMinCycles || !out.slope || !out.late_slope) {
    out.reason = fmt::format("{} samples; at least {} are needed for a verdict", samples.size(), kMinCycles);
    return out;
  }
  const bool grows = out.slope->lower > budget, grows_late = out.late_slope->lower > budget;
  out.verdict = grows && grows_late ? LeakVerdict::kLeak : LeakVerdict::kPass;
  out.reason =
      fmt::format("slope {:.6g} per cycle (lower bound {:.6g}), later half {:.6g} (lower bound {:.6g}), budget {:.6g}",
                  out.slope->slope, out.slope->lower, out.late_slope->slope, out.late_slope->lower, budget);
  if (out.verdict == LeakVerdict::kPass && out.jump)
    out.reason += fmt::format("; level went from {:.6g} to {:.6g} at cycle {} and did not grow on", out.jump->from,
                              out.jump->to, out.jump->cycle);
  return out;
}

}  // namespace calkit::measure
