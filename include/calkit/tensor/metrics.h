#pragma once
/// How far two vectors of numbers are apart. `want` is the reference.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace calkit {

struct Closeness {
  std::size_t count = 0;
  std::size_t non_finite = 0;  ///< NaN or Inf in either; all figures below leave these elements out
  double max_abs = 0;          ///< max |got - want|
  std::size_t max_abs_index = 0;
  std::optional<double> nmse;    ///< sum (got-want)^2 / sum want^2; nullopt if the denominator is 0
  std::optional<double> cosine;  ///< nullopt if either norm is 0
};
/// got.size() must equal want.size(). A comparison with non_finite > 0 or count 0 must not pass anywhere.
Closeness compare(std::span<const float> got, std::span<const float> want);

/// Indices of the k largest values, largest first, equal values by smaller index; NaN never ranks.
std::vector<std::int32_t> top_k(std::span<const float> values, std::size_t k);
/// |top-k(got) intersect top-k(want)| / k, with k at most want.size(); 0 for nothing to rank.
double top_k_overlap(std::span<const float> got, std::span<const float> want, std::size_t k);

}  // namespace calkit
