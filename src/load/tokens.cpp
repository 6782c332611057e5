#include "tokens.h"

#include <cmath>

namespace calkit::load {
namespace {

std::uint64_t splitmix(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t state = a ^ (b * 0xd1342543de82ef95ull + 1);
  return splitmix(state);
}

std::vector<std::int32_t> random_tokens(std::uint64_t seed, std::int64_t count, std::int64_t vocab,
                                        std::uint64_t number) {
  std::vector<std::int32_t> out;
  out.reserve(static_cast<std::size_t>(count));
  const auto ids = static_cast<std::uint64_t>(vocab);
  // The offset keeps the first id from being the request's bare number.
  std::uint64_t digits = number;
  std::uint64_t state = seed;
  std::uint64_t offset = splitmix(state);
  do {
    if (out.size() == static_cast<std::size_t>(count)) return out;
    out.push_back(static_cast<std::int32_t>((digits % ids + offset % ids) % ids));
    digits /= ids;
  } while (digits > 0);
  state = mix(seed, number);
  while (out.size() < static_cast<std::size_t>(count)) out.push_back(static_cast<std::int32_t>(splitmix(state) % ids));
  return out;
}

std::optional<std::int32_t> greedy_token(std::span<const float> logits) {
  if (logits.empty()) return std::nullopt;
  std::size_t best = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (!std::isfinite(logits[i])) return std::nullopt;
    if (logits[i] > logits[best]) best = i;
  }
  return static_cast<std::int32_t>(best);
}

}  // namespace calkit::load
