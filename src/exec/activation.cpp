#include "activation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "wide.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define CALKIT_AVX2 __attribute__((target("avx2,fma")))
#endif

namespace calkit::exec {
namespace {

constexpr std::size_t kLanes = 8;
constexpr float kMasked = -std::numeric_limits<float>::infinity();

// exp(x) = 2^n * exp(r), |r| <= ln(2)/2; a polynomial of degree 6 for exp(r) is within two units of the last place.
// Below kLow the result is 0, above kHigh it stays at the largest one.
constexpr float kLow = -87.33654f, kHigh = 88.37626f, kLog2E = 1.44269504f;
constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
constexpr float kPoly[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                           4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};

float exp_one(float x) {
  if (x < kLow) return 0;
  x = kHigh < x ? kHigh : x;
  const float n = std::nearbyint(x * kLog2E);
  float r = std::fmaf(n, -kLn2High, x);
  r = std::fmaf(n, -kLn2Low, r);
  float p = kPoly[0];
  for (int i = 1; i < 6; ++i) p = std::fmaf(p, r, kPoly[i]);
  p = std::fmaf(p, r * r, r) + 1.0f;
  if (std::isnan(x)) return x;
  return p * std::bit_cast<float>((static_cast<std::int32_t>(n) + 127) << 23);
}

float silu_one(float x) {
  return x / (1.0f + exp_one(-x));
}

template <class T>
void swiglu_from(const T* gate, const T* up, T* y, std::size_t from, std::size_t count) {
  for (std::size_t i = from; i < count; ++i) {
    T silu;
    put(silu, silu_one(wide(gate[i])));
    put(y[i], wide(silu) * wide(up[i]));
  }
}

#if defined(__x86_64__)
CALKIT_AVX2 inline __m256 exp_eight(__m256 x) {
  const __m256 none = _mm256_cmp_ps(x, _mm256_set1_ps(kLow), _CMP_LT_OQ);
  // The operands' order keeps NaN.
  x = _mm256_max_ps(_mm256_set1_ps(kLow), _mm256_min_ps(_mm256_set1_ps(kHigh), x));
  const __m256 n =
      _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(kLog2E)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m256 r = _mm256_fmadd_ps(n, _mm256_set1_ps(-kLn2High), x);
  r = _mm256_fmadd_ps(n, _mm256_set1_ps(-kLn2Low), r);
  __m256 p = _mm256_set1_ps(kPoly[0]);
  for (int i = 1; i < 6; ++i) p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(kPoly[i]));
  p = _mm256_add_ps(_mm256_fmadd_ps(p, _mm256_mul_ps(r, r), r), _mm256_set1_ps(1.0f));
  const __m256i power = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
  const __m256 value = _mm256_mul_ps(p, _mm256_castsi256_ps(power));
  const __m256 nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
  return _mm256_blendv_ps(_mm256_andnot_ps(none, value), x, nan);
}

CALKIT_AVX2 inline __m256 silu_eight(__m256 x) {
  const __m256 turned = _mm256_xor_ps(x, _mm256_set1_ps(-0.0f));
  return _mm256_div_ps(x, _mm256_add_ps(_mm256_set1_ps(1.0f), exp_eight(turned)));
}

CALKIT_AVX2 inline __m256 load_eight(const BF16* at) {
  const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}

// The bits of eight numbers rounded to BF16, in the upper halves.
CALKIT_AVX2 inline __m256i rounded(__m256 value) {
  const __m256i bits = _mm256_castps_si256(value);
  const __m256i even = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(_mm256_set1_epi32(0x7fff), even));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
  const __m256i chosen = _mm256_blendv_epi8(up, _mm256_or_si256(bits, _mm256_set1_epi32(0x400000)), nan);
  return _mm256_and_si256(chosen, _mm256_set1_epi32(static_cast<int>(0xffff0000u)));
}

CALKIT_AVX2 std::size_t swiglu_avx2(const float* gate, const float* up, float* y, std::size_t count) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    _mm256_storeu_ps(y + i, _mm256_mul_ps(silu_eight(_mm256_loadu_ps(gate + i)), _mm256_loadu_ps(up + i)));
  return i;
}

CALKIT_AVX2 std::size_t swiglu_avx2(const BF16* gate, const BF16* up, BF16* y, std::size_t count) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m256 silu = _mm256_castsi256_ps(rounded(silu_eight(load_eight(gate + i))));
    const __m256i high = _mm256_srli_epi32(rounded(_mm256_mul_ps(silu, load_eight(up + i))), 16);
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(high, high), 0xd8);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), _mm256_castsi256_si128(packed));
  }
  return i;
}

// exp(value - largest) of whole blocks in place; adds them to the lanes of `sums`.
CALKIT_AVX2 std::size_t exp_blocks_avx2(float* values, std::size_t count, float largest, float* sums) {
  __m256 total = _mm256_setzero_ps();
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m256 e = exp_eight(_mm256_sub_ps(_mm256_loadu_ps(values + i), _mm256_set1_ps(largest)));
    _mm256_storeu_ps(values + i, e);
    total = _mm256_add_ps(total, e);
  }
  _mm256_storeu_ps(sums, total);
  return i;
}

CALKIT_AVX2 float largest_avx2(const float* values, std::size_t count) {
  __m256 top = _mm256_set1_ps(kMasked);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) top = _mm256_max_ps(top, _mm256_loadu_ps(values + i));
  float lanes[kLanes];
  _mm256_storeu_ps(lanes, top);
  float out = *std::max_element(lanes, lanes + kLanes);
  for (; i < count; ++i) out = std::max(out, values[i]);
  return out;
}
#endif

std::size_t exp_blocks(float* values, std::size_t count, float largest, float* sums) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      sums[lane] += values[i + lane] = exp_one(values[i + lane] - largest);
  return i;
}

template <class T>
void swiglu_of(Isa isa, const T* gate, const T* up, T* y, std::size_t count) {
  std::size_t done = 0;
#if defined(__x86_64__)
  if (isa == Isa::kAvx2) done = swiglu_avx2(gate, up, y, count);
#endif
  swiglu_from(gate, up, y, done, count);
}

}  // namespace

void swiglu(Isa isa, const float* gate, const float* up, float* y, std::size_t count) {
  swiglu_of(isa, gate, up, y, count);
}

void swiglu(Isa isa, const BF16* gate, const BF16* up, BF16* y, std::size_t count) {
  swiglu_of(isa, gate, up, y, count);
}

void softmax(Isa isa, float* values, std::size_t count) {
  float sums[kLanes] = {};
  float largest = kMasked;
  std::size_t i = 0;
#if defined(__x86_64__)
  if (isa == Isa::kAvx2) {
    largest = largest_avx2(values, count);
    if (largest != kMasked) i = exp_blocks_avx2(values, count, largest, sums);
  } else
#endif
  {
    if (count > 0) largest = *std::max_element(values, values + count);
    if (largest != kMasked) i = exp_blocks(values, count, largest, sums);
  }
  if (largest == kMasked) return std::fill(values, values + count, 0.0f);
  for (std::size_t half = kLanes / 2; half > 0; half /= 2)
    for (std::size_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  float sum = sums[0];
  for (; i < count; ++i) sum += values[i] = exp_one(values[i] - largest);
  for (std::size_t j = 0; j < count; ++j) values[j] /= sum;
}

}  // namespace calkit::exec
