#include "calkit/hf/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace calkit::hf {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

/// "dynamic" multiplies theta by a power of a number that is 1 up to max_positions, but for the rounding of its terms.
double theta_of(const ModelSpec& spec) {
  if (spec.rope.type != "dynamic" || spec.head_dim <= 2) return spec.rope_theta;
  const double factor = spec.rope.factor, positions = static_cast<double>(spec.max_positions);
  const double width = static_cast<double>(spec.head_dim);
  return spec.rope_theta * std::pow(factor * positions / positions - (factor - 1), width / (width - 2));
}

/// theta^(2i/D) in float32: theta, exponent and power are rounded.
std::vector<float> powers(const ModelSpec& spec) {
  std::vector<float> out;
  const auto theta = static_cast<double>(static_cast<float>(theta_of(spec)));
  for (std::int64_t i = 0; i < spec.head_dim; i += 2) {
    const float exponent = static_cast<float>(i) / static_cast<float>(spec.head_dim);
    out.push_back(static_cast<float>(std::pow(theta, static_cast<double>(exponent))));
  }
  return out;
}

/// Long waves are slowed by `factor`, short ones kept, those between blended. A number divided by a tensor is the
/// tensor's reciprocal times the number there, hence the two roundings.
float llama3(float frequency, const RopeScaling& rope) {
  const auto factor = static_cast<float>(rope.factor);
  const auto original = static_cast<double>(rope.original_max_positions);
  const auto longest = static_cast<float>(original / rope.low_freq_factor);
  const auto shortest = static_cast<float>(original / rope.high_freq_factor);
  const float wave = (1.0f / frequency) * static_cast<float>(kTurn);
  if (wave > longest) return frequency / factor;
  if (wave < shortest) return frequency;
  const float turns = (1.0f / wave) * static_cast<float>(rope.original_max_positions);
  const float smooth = (turns - static_cast<float>(rope.low_freq_factor)) /
                       static_cast<float>(rope.high_freq_factor - rope.low_freq_factor);
  return (1.0f - smooth) * frequency / factor + smooth * frequency;
}

/// The pair that turns `rotations` times over the original context.
double yarn_pair(double rotations, const ModelSpec& spec) {
  const double original = static_cast<double>(spec.rope.original_max_positions);
  return static_cast<double>(spec.head_dim) * std::log(original / (rotations * kTurn)) /
         (2 * std::log(spec.rope_theta));
}

/// Interpolated frequencies behind the ramp, the original ones before it.
std::vector<float> yarn(const std::vector<float>& power, const ModelSpec& spec) {
  const RopeScaling& rope = spec.rope;
  double low = yarn_pair(rope.beta_fast, spec), high = yarn_pair(rope.beta_slow, spec);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(spec.head_dim - 1));
  if (low == high) high += 0.001;
  std::vector<float> out;
  for (std::size_t i = 0; i < power.size(); ++i) {
    const float ramp = (static_cast<float>(i) - static_cast<float>(low)) / static_cast<float>(high - low);
    const float keep = 1.0f - std::clamp(ramp, 0.0f, 1.0f);
    const float kept = 1.0f / power[i], stretched = 1.0f / (static_cast<float>(rope.factor) * power[i]);
    out.push_back(stretched * (1.0f - keep) + kept * keep);
  }
  return out;
}

double mscale(double factor, double weight) {
  return factor <= 1 ? 1.0 : 0.1 * weight * std::log(factor) + 1.0;
}

}  // namespace

std::vector<float> inverse_frequencies(const ModelSpec& spec) {
  std::vector<float> out = powers(spec);
  if (spec.rope.type == "yarn") return yarn(out, spec);
  for (float& value : out) {
    value = 1.0f / value;
    if (spec.rope.type == "linear") value /= static_cast<float>(spec.rope.factor);
    if (spec.rope.type == "llama3") value = llama3(value, spec.rope);
  }
  return out;
}

double attention_factor(const ModelSpec& spec) {
  const RopeScaling& rope = spec.rope;
  if (rope.type != "yarn") return 1;
  if (rope.attention_factor) return *rope.attention_factor;
  const double numerator = rope.mscale.value_or(0), denominator = rope.mscale_all_dim.value_or(0);
  if (numerator != 0 && denominator != 0) return mscale(rope.factor, numerator) / mscale(rope.factor, denominator);
  return mscale(rope.factor, 1);
}

}  // namespace calkit::hf
