#include "dot.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#define CALKIT_AVX2 __attribute__((target("avx2,fma")))
#endif

namespace calkit::exec {
namespace {

constexpr std::size_t kLanes = 8;

inline float load_one(const float* at) {
  return *at;
}
inline float load_one(const BF16* at) {
  return to_float(*at);
}

// The twin of the vector code, lane by lane.
template <class W>
float dot_scalar(const float* x, const W* w, std::size_t k) {
  float acc[2][kLanes] = {};
  std::size_t i = 0;
  for (; i + 2 * kLanes <= k; i += 2 * kLanes)
    for (std::size_t lane = 0; lane < 2 * kLanes; ++lane) {
      float& sum = acc[lane / kLanes][lane % kLanes];
      sum = std::fmaf(x[i + lane], load_one(w + i + lane), sum);
    }
  if (i + kLanes <= k) {
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      acc[0][lane] = std::fmaf(x[i + lane], load_one(w + i + lane), acc[0][lane]);
    i += kLanes;
  }
  float all[kLanes];
  for (std::size_t lane = 0; lane < kLanes; ++lane) all[lane] = acc[0][lane] + acc[1][lane];
  for (std::size_t half = kLanes / 2; half > 0; half /= 2)
    for (std::size_t lane = 0; lane < half; ++lane) all[lane] += all[lane + half];
  float sum = all[0];
  for (; i < k; ++i) sum = std::fmaf(x[i], load_one(w + i), sum);
  return sum;
}

template <class V>
void weighted_scalar(const float* p, std::size_t t, const V* v, std::size_t stride, std::size_t from, std::size_t d,
                     float* y) {
  for (std::size_t i = from; i < d; ++i) {
    float sum = y[i];
    for (std::size_t row = 0; row < t; ++row) sum = std::fmaf(p[row], load_one(v + row * stride + i), sum);
    y[i] = sum;
  }
}

#if defined(__x86_64__)
CALKIT_AVX2 inline __m256 load_eight(const float* at) {
  return _mm256_loadu_ps(at);
}
CALKIT_AVX2 inline __m256 load_eight(const BF16* at) {
  const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}

CALKIT_AVX2 inline float add_lanes(__m256 v) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

// Weights stream from memory and the hardware's own prefetch stops at each 4 KiB page: ask this far ahead. Measured on
// a Zen 3: 0.55 -> 0.88 of a plain read of the memory for rows of 1024, 0.8 -> 1.2 for 3072. Past the end it does
// nothing.
constexpr std::size_t kAhead = 32u << 10;

// Long rows are taken in parts, so that kM parts of x stay in the first cache while the rows of w go by. Between the
// parts the accumulators lie in memory: the order of the sums does not change.
struct Part {
  bool first = true, last = true;
  float* sums = nullptr;  ///< 2 * kLanes of each pair of rows; unused where one part is all
};

// kM rows of x against kN rows of w: the registers hold 2 * kM * kN accumulators.
template <std::size_t kM, std::size_t kN, bool kStream, class W>
CALKIT_AVX2 void dot_block(const float* x, std::size_t x_stride, const W* w, std::size_t w_stride, std::size_t k,
                           float* y, std::size_t y_stride, const Part& part) {
  __m256 acc[kM][kN][2];
#pragma GCC unroll 4
  for (std::size_t m = 0; m < kM; ++m)
#pragma GCC unroll 4
    for (std::size_t n = 0; n < kN; ++n) {
      const std::size_t at = (m * kN + n) * 2 * kLanes;
      acc[m][n][0] = part.first ? _mm256_setzero_ps() : _mm256_loadu_ps(part.sums + at);
      acc[m][n][1] = part.first ? _mm256_setzero_ps() : _mm256_loadu_ps(part.sums + at + kLanes);
    }
  std::size_t i = 0;
  for (; i + 2 * kLanes <= k; i += 2 * kLanes) {
    if constexpr (kStream)
      for (std::size_t n = 0; n < kN; ++n)
        _mm_prefetch(reinterpret_cast<const char*>(w + n * w_stride + i) + kAhead, _MM_HINT_T0);
#pragma GCC unroll 2
    for (std::size_t half = 0; half < 2; ++half) {
      const std::size_t at = i + half * kLanes;
      __m256 left[kM];
#pragma GCC unroll 4
      for (std::size_t m = 0; m < kM; ++m) {
        left[m] = _mm256_loadu_ps(x + m * x_stride + at);
        if constexpr (kN > 1) __asm__("" : "+x"(left[m]));  // loaded once, not again as an operand of each product
      }
#pragma GCC unroll 4
      for (std::size_t n = 0; n < kN; ++n) {
        const __m256 right = load_eight(w + n * w_stride + at);
#pragma GCC unroll 4
        for (std::size_t m = 0; m < kM; ++m) acc[m][n][half] = _mm256_fmadd_ps(left[m], right, acc[m][n][half]);
      }
    }
  }
  if (!part.last) {
#pragma GCC unroll 4
    for (std::size_t m = 0; m < kM; ++m)
#pragma GCC unroll 4
      for (std::size_t n = 0; n < kN; ++n) {
        float* to = part.sums + (m * kN + n) * 2 * kLanes;
        _mm256_storeu_ps(to, acc[m][n][0]);
        _mm256_storeu_ps(to + kLanes, acc[m][n][1]);
      }
    return;
  }
  if (i + kLanes <= k) {
#pragma GCC unroll 4
    for (std::size_t n = 0; n < kN; ++n)
#pragma GCC unroll 4
      for (std::size_t m = 0; m < kM; ++m)
        acc[m][n][0] =
            _mm256_fmadd_ps(_mm256_loadu_ps(x + m * x_stride + i), load_eight(w + n * w_stride + i), acc[m][n][0]);
    i += kLanes;
  }
#pragma GCC unroll 4
  for (std::size_t n = 0; n < kN; ++n)
#pragma GCC unroll 4
    for (std::size_t m = 0; m < kM; ++m) y[m * y_stride + n] = add_lanes(_mm256_add_ps(acc[m][n][0], acc[m][n][1]));
  for (; i < k; ++i)
    for (std::size_t n = 0; n < kN; ++n)
      for (std::size_t m = 0; m < kM; ++m) {
        float& sum = y[m * y_stride + n];
        sum = std::fmaf(x[m * x_stride + i], load_one(w + n * w_stride + i), sum);
      }
}

template <std::size_t kM, std::size_t kN, bool kStream, class W>
CALKIT_AVX2 void dot_panel(const float* x, std::size_t x_stride, const W* w, std::size_t w_stride, std::size_t n,
                           std::size_t k, float* y, std::size_t y_stride, Part part = {}) {
  float* const sums = part.sums;
  const auto room = [&](std::size_t row) { return sums == nullptr ? nullptr : sums + row * kM * 2 * kLanes; };
  std::size_t row = 0;
  for (; row + kN <= n; row += kN) {
    part.sums = room(row);
    dot_block<kM, kN, kStream>(x, x_stride, w + row * w_stride, w_stride, k, y + row, y_stride, part);
  }
  for (; row < n; ++row) {
    part.sums = room(row);
    dot_block<kM, 1, kStream>(x, x_stride, w + row * w_stride, w_stride, k, y + row, y_stride, part);
  }
}

constexpr std::size_t kPart = 1024;  // elements of a row

// As dot_panel, in parts. @param sums room for kM * n pairs of rows
template <std::size_t kM, std::size_t kN>
CALKIT_AVX2 void dot_parts(const float* x, std::size_t x_stride, const float* w, std::size_t w_stride, std::size_t n,
                           std::size_t k, float* y, std::size_t y_stride, float* sums) {
  for (std::size_t begin = 0; begin == 0 || begin < k; begin += kPart) {
    const std::size_t count = std::min(kPart, k - begin);
    const Part part{begin == 0, begin + count == k, sums};
    dot_panel<kM, kN, false>(x + begin, x_stride, w + begin, w_stride, n, count, y, y_stride, part);
  }
}

CALKIT_AVX2 void widen_ahead(const BF16* from, float* to, std::size_t count) {
  std::size_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    _mm_prefetch(reinterpret_cast<const char*>(from + i) + kAhead, _MM_HINT_T0);
    for (std::size_t j = 0; j < 4; ++j) _mm256_storeu_ps(to + i + j * kLanes, load_eight(from + i + j * kLanes));
  }
  for (; i < count; ++i) to[i] = to_float(from[i]);
}

// What many rows of x meet of w at a time: it stays in the second cache, widened once.
constexpr std::size_t kBlockBytes = 192u << 10;

const float* wide_block(const float* w, std::size_t, std::size_t, std::size_t) {
  return w;
}
const float* wide_block(const BF16* w, std::size_t w_stride, std::size_t rows, std::size_t k) {
  thread_local std::vector<float> wide;
  wide.resize(std::max(wide.size(), rows * k));
  for (std::size_t row = 0; row < rows; ++row) widen_ahead(w + row * w_stride, wide.data() + row * k, k);
  return wide.data();
}

template <class W>
void dot_avx2(const float* x, std::size_t x_stride, std::size_t m, const W* w, std::size_t w_stride, std::size_t n,
              std::size_t k, float* y, std::size_t y_stride) {
  if (m == 3) return dot_panel<3, 2, true>(x, x_stride, w, w_stride, n, k, y, y_stride);
  if (m == 2) return dot_panel<2, 2, true>(x, x_stride, w, w_stride, n, k, y, y_stride);
  if (m == 1) return dot_panel<1, 4, true>(x, x_stride, w, w_stride, n, k, y, y_stride);
  const std::size_t block = std::max<std::size_t>(8, kBlockBytes / sizeof(float) / std::max<std::size_t>(1, k) / 8 * 8);
  std::vector<float> sums(3 * 2 * kLanes * std::min(block, n));
  for (std::size_t begin = 0; begin < n; begin += block) {
    const std::size_t rows = std::min(block, n - begin);
    const float* wide = wide_block(w + begin * w_stride, w_stride, rows, k);
    const std::size_t wide_stride = std::is_same_v<W, float> ? w_stride : k;
    const float* from = x;
    float* to = y + begin;
    std::size_t left = m;
    for (; left >= 3; left -= 3, from += 3 * x_stride, to += 3 * y_stride)
      dot_parts<3, 2>(from, x_stride, wide, wide_stride, rows, k, to, y_stride, sums.data());
    if (left == 2) dot_parts<2, 2>(from, x_stride, wide, wide_stride, rows, k, to, y_stride, sums.data());
    if (left == 1) dot_parts<1, 4>(from, x_stride, wide, wide_stride, rows, k, to, y_stride, sums.data());
  }
}

// y += p * v of kM rows of p; t ascending.
template <std::size_t kM, class V>
CALKIT_AVX2 void weighted_block(const float* p, std::size_t p_stride, std::size_t t, const V* v, std::size_t stride,
                                std::size_t d, float* y, std::size_t y_stride) {
  std::size_t i = 0;
  for (; i + 2 * kLanes <= d; i += 2 * kLanes) {
    __m256 sum[kM][2];
    for (std::size_t m = 0; m < kM; ++m)
      for (std::size_t j = 0; j < 2; ++j) sum[m][j] = _mm256_loadu_ps(y + m * y_stride + i + j * kLanes);
    for (std::size_t row = 0; row < t; ++row) {
      const __m256 low = load_eight(v + row * stride + i), high = load_eight(v + row * stride + i + kLanes);
#pragma GCC unroll 6
      for (std::size_t m = 0; m < kM; ++m) {
        const __m256 weight = _mm256_set1_ps(p[m * p_stride + row]);
        sum[m][0] = _mm256_fmadd_ps(weight, low, sum[m][0]);
        sum[m][1] = _mm256_fmadd_ps(weight, high, sum[m][1]);
      }
    }
    for (std::size_t m = 0; m < kM; ++m)
      for (std::size_t j = 0; j < 2; ++j) _mm256_storeu_ps(y + m * y_stride + i + j * kLanes, sum[m][j]);
  }
  for (std::size_t m = 0; m < kM && i < d; ++m) weighted_scalar(p + m * p_stride, t, v, stride, i, d, y + m * y_stride);
}

constexpr std::size_t kWeightedRows = 64;  // of v, that stay in the first cache

template <class V>
void weighted_avx2(const float* p, std::size_t p_stride, std::size_t m, std::size_t t, const V* v, std::size_t stride,
                   std::size_t d, float* y, std::size_t y_stride) {
  for (std::size_t begin = 0; begin < t; begin += kWeightedRows) {
    const std::size_t rows = std::min(kWeightedRows, t - begin);
    const float* from = p + begin;
    const V* at = v + begin * stride;
    float* to = y;
    std::size_t left = m;
    for (; left >= 6; left -= 6, from += 6 * p_stride, to += 6 * y_stride)
      weighted_block<6>(from, p_stride, rows, at, stride, d, to, y_stride);
    for (; left >= 2; left -= 2, from += 2 * p_stride, to += 2 * y_stride)
      weighted_block<2>(from, p_stride, rows, at, stride, d, to, y_stride);
    if (left == 1) weighted_block<1>(from, p_stride, rows, at, stride, d, to, y_stride);
  }
}

CALKIT_AVX2 void widen_avx2(const BF16* from, float* to, std::size_t count) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) _mm256_storeu_ps(to + i, load_eight(from + i));
  for (; i < count; ++i) to[i] = to_float(from[i]);
}

// Eight numbers rounded to BF16; their bits are the upper halves, the lower halves are not cleared.
CALKIT_AVX2 inline __m256i rounded(__m256 value) {
  const __m256i bias = _mm256_set1_epi32(0x7fff), one = _mm256_set1_epi32(1), quiet = _mm256_set1_epi32(0x400000);
  const __m256i bits = _mm256_castps_si256(value);
  const __m256i even = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
  const __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(bias, even));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
  return _mm256_blendv_epi8(up, _mm256_or_si256(bits, quiet), nan);
}

CALKIT_AVX2 void scale_and_round_avx2(float* values, float factor, std::size_t count) {
  const __m256i upper = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m256i bits = rounded(_mm256_mul_ps(_mm256_loadu_ps(values + i), _mm256_set1_ps(factor)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(values + i), _mm256_and_si256(bits, upper));
  }
  for (; i < count; ++i) values[i] = round_bf16(values[i] * factor);
}

CALKIT_AVX2 void narrow_avx2(const float* from, BF16* to, std::size_t count) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m256i high = _mm256_srli_epi32(rounded(_mm256_loadu_ps(from + i)), 16);
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(high, high), 0xd8);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm256_castsi256_si128(packed));
  }
  for (; i < count; ++i) to[i] = to_bf16(from[i]);
}
#endif

template <class W>
void dot_rows_of(Isa isa, const float* x, std::size_t x_stride, std::size_t m, const W* w, std::size_t w_stride,
                 std::size_t n, std::size_t k, float* y, std::size_t y_stride) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx2) return dot_avx2(x, x_stride, m, w, w_stride, n, k, y, y_stride);
#endif
  for (std::size_t row = 0; row < m; ++row)
    for (std::size_t col = 0; col < n; ++col)
      y[row * y_stride + col] = dot_scalar(x + row * x_stride, w + col * w_stride, k);
}

template <class V>
void weighted_rows_of(Isa isa, const float* p, std::size_t p_stride, std::size_t m, std::size_t t, const V* v,
                      std::size_t stride, std::size_t d, float* y, std::size_t y_stride) {
  for (std::size_t row = 0; row < m; ++row) std::fill_n(y + row * y_stride, d, 0.0f);
#if defined(__x86_64__)
  if (isa == Isa::kAvx2) return weighted_avx2(p, p_stride, m, t, v, stride, d, y, y_stride);
#endif
  for (std::size_t row = 0; row < m; ++row) weighted_scalar(p + row * p_stride, t, v, stride, 0, d, y + row * y_stride);
}

}  // namespace

Rows Rows::from(std::size_t row) const {
  Rows out = *this;
  out.data = static_cast<const char*>(data) + row * stride * (bf16 ? sizeof(BF16) : sizeof(float));
  return out;
}

void dot_rows(Isa isa, const float* x, std::size_t x_stride, std::size_t m, const Rows& w, std::size_t n, std::size_t k,
              float* y, std::size_t y_stride) {
  if (w.bf16)
    dot_rows_of(isa, x, x_stride, m, static_cast<const BF16*>(w.data), w.stride, n, k, y, y_stride);
  else
    dot_rows_of(isa, x, x_stride, m, static_cast<const float*>(w.data), w.stride, n, k, y, y_stride);
}

void weighted_rows(Isa isa, const float* p, std::size_t p_stride, std::size_t m, std::size_t t, const Rows& v,
                   std::size_t d, float* y, std::size_t y_stride) {
  if (v.bf16)
    weighted_rows_of(isa, p, p_stride, m, t, static_cast<const BF16*>(v.data), v.stride, d, y, y_stride);
  else
    weighted_rows_of(isa, p, p_stride, m, t, static_cast<const float*>(v.data), v.stride, d, y, y_stride);
}

void widen(Isa isa, const BF16* from, float* to, std::size_t count) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx2) return widen_avx2(from, to, count);
#endif
  for (std::size_t i = 0; i < count; ++i) to[i] = to_float(from[i]);
}

void narrow(Isa isa, const float* from, BF16* to, std::size_t count) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx2) return narrow_avx2(from, to, count);
#endif
  for (std::size_t i = 0; i < count; ++i) to[i] = to_bf16(from[i]);
}

void scale_and_round(Isa isa, float* values, float factor, std::size_t count) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx2) return scale_and_round_avx2(values, factor, count);
#endif
  for (std::size_t i = 0; i < count; ++i) values[i] = round_bf16(values[i] * factor);
}

}  // namespace calkit::exec
