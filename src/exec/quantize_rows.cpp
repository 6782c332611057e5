#include "quantize_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>

#if defined(__x86_64__)
#include <immintrin.h>
#define CALKIT_AVX2 __attribute__((target("avx2,fma")))
#endif

namespace calkit::exec {
namespace {

constexpr float kLevels = 127.0f, kSmallest = 1e-30f;
constexpr std::uint32_t kMagnitude = 0x7fffffffu, kInfinity = 0x7f800000u;

// Magnitudes are ordered as their bits are, those that are not finite last.
std::uint32_t largest_from(const float* x, std::size_t from, std::size_t count, std::uint32_t largest) {
  for (std::size_t i = from; i < count; ++i)
    largest = std::max(largest, std::bit_cast<std::uint32_t>(x[i]) & kMagnitude);
  return largest;
}

void round_from(const float* x, std::size_t from, std::size_t count, float scale, std::int8_t* q) {
  for (std::size_t i = from; i < count; ++i) q[i] = static_cast<std::int8_t>(std::nearbyint(x[i] / scale));
}

#if defined(__x86_64__)
CALKIT_AVX2 std::size_t largest_avx2(const float* x, std::size_t count, std::uint32_t& largest) {
  __m256i top = _mm256_setzero_si256();
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    top = _mm256_max_epu32(top, _mm256_and_si256(_mm256_castps_si256(_mm256_loadu_ps(x + i)),
                                                 _mm256_set1_epi32(static_cast<int>(kMagnitude))));
  std::uint32_t lanes[8];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes), top);
  largest = *std::max_element(lanes, lanes + 8);
  return i;
}

CALKIT_AVX2 std::size_t round_avx2(const float* x, std::size_t count, float scale, std::int8_t* q) {
  const __m256 by = _mm256_set1_ps(scale);
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    // The conversion rounds halves to even, too.
    const __m256i whole = _mm256_cvtps_epi32(_mm256_div_ps(_mm256_loadu_ps(x + i), by));
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(q + i), _mm_packs_epi16(words, words));
  }
  return i;
}
#endif

}  // namespace

bool quantize_row([[maybe_unused]] Isa isa, const float* x, std::size_t count, std::int8_t* q, float& scale) {
  std::uint32_t largest = 0;
  std::size_t done = 0;
#if defined(__x86_64__)
  if (isa == Isa::kAvx2) done = largest_avx2(x, count, largest);
#endif
  largest = largest_from(x, done, count, largest);
  if (largest >= kInfinity) return false;
  scale = std::max(std::bit_cast<float>(largest) / kLevels, kSmallest);
  done = 0;
#if defined(__x86_64__)
  if (isa == Isa::kAvx2) done = round_avx2(x, count, scale, q);
#endif
  round_from(x, done, count, scale, q);
  return true;
}

}  // namespace calkit::exec
