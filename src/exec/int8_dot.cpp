#include "int8_dot.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#define CALKIT_AVX2 __attribute__((target("avx2")))
#define CALKIT_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
#endif

namespace calkit::exec {
namespace {

constexpr std::size_t kBlock = 64;        // bytes of a VNNI register
constexpr std::size_t kAhead = 8u << 10;  // as dot.cpp has it, in bytes of one of the rows that go by together

std::int32_t dot_scalar(const std::int8_t* x, const std::int8_t* w, std::size_t k) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < k; ++i) sum += static_cast<std::uint32_t>(x[i] * w[i]);
  return static_cast<std::int32_t>(sum);
}

#if defined(__x86_64__)
// kM rows of x against kN rows of w, 16 products at a time: two products of int8 fit the int32 that madd adds them in.
template <std::size_t kM, std::size_t kN>
CALKIT_AVX2 void block_avx2(const Int8Rows& x, std::size_t first, const std::int8_t* w, std::int32_t* y,
                            std::size_t y_stride) {
  const std::size_t k = x.inputs();
  __m256i sums[kM][kN];
  const std::int16_t* left[kM];
  for (std::size_t m = 0; m < kM; ++m) {
    left[m] = static_cast<const std::int16_t*>(x.row(first + m));
    for (std::size_t n = 0; n < kN; ++n) sums[m][n] = _mm256_setzero_si256();
  }
  std::size_t i = 0;
  for (; i + 16 <= k; i += 16) {
#pragma GCC unroll 4
    for (std::size_t n = 0; n < kN; ++n) {
      _mm_prefetch(reinterpret_cast<const char*>(w + n * k + i) + kAhead, _MM_HINT_T0);
      const __m256i right = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w + n * k + i)));
#pragma GCC unroll 2
      for (std::size_t m = 0; m < kM; ++m) {
        const __m256i of_x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(left[m] + i));
        sums[m][n] = _mm256_add_epi32(sums[m][n], _mm256_madd_epi16(of_x, right));
      }
    }
  }
  for (std::size_t m = 0; m < kM; ++m)
    for (std::size_t n = 0; n < kN; ++n) {
      std::uint32_t lanes[8];
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes), sums[m][n]);
      std::uint32_t sum = 0;
      for (const std::uint32_t lane : lanes) sum += lane;
      for (std::size_t j = i; j < k; ++j) sum += static_cast<std::uint32_t>(left[m][j] * w[n * k + j]);
      y[m * y_stride + n] = static_cast<std::int32_t>(sum);
    }
}

// Sums of the lanes of four registers. (GCC 12 warns of the extraction without a mask.)
CALKIT_VNNI inline __m128i add_lanes(const __m512i* four) {
  __m256i half[4];
  for (int i = 0; i < 4; ++i)
    half[i] = _mm256_add_epi32(_mm512_maskz_extracti64x4_epi64(0xff, four[i], 0),
                               _mm512_maskz_extracti64x4_epi64(0xff, four[i], 1));
  const __m256i pairs = _mm256_hadd_epi32(_mm256_hadd_epi32(half[0], half[1]), _mm256_hadd_epi32(half[2], half[3]));
  return _mm_add_epi32(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
}

// kM rows of x against four rows of w. The instruction takes unsigned x: 128 was added, 128 times the sum of w goes.
template <std::size_t kM>
CALKIT_VNNI void block_vnni(const Int8Rows& x, std::size_t first, const std::int8_t* w, const std::int32_t* w_sums,
                            std::int32_t* y, std::size_t y_stride) {
  const std::size_t k = x.inputs();
  __m512i sums[kM][4];
  const std::int8_t* left[kM];
  for (std::size_t m = 0; m < kM; ++m) {
    left[m] = static_cast<const std::int8_t*>(x.row(first + m));
    for (std::size_t n = 0; n < 4; ++n) sums[m][n] = _mm512_setzero_si512();
  }
  for (std::size_t i = 0; i < k; i += kBlock) {
    const __mmask64 mask = i + kBlock <= k ? ~__mmask64{0} : (__mmask64{1} << (k - i)) - 1;
    __m512i of_x[kM];
#pragma GCC unroll 4
    for (std::size_t m = 0; m < kM; ++m) of_x[m] = _mm512_loadu_si512(left[m] + i);
#pragma GCC unroll 4
    for (std::size_t n = 0; n < 4; ++n) {
      _mm_prefetch(reinterpret_cast<const char*>(w + n * k + i) + kAhead, _MM_HINT_T0);
      const __m512i right = _mm512_maskz_loadu_epi8(mask, w + n * k + i);
#pragma GCC unroll 4
      for (std::size_t m = 0; m < kM; ++m) sums[m][n] = _mm512_dpbusd_epi32(sums[m][n], of_x[m], right);
    }
  }
  const __m128i shift = _mm_slli_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w_sums)), 7);
  for (std::size_t m = 0; m < kM; ++m)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + m * y_stride), _mm_sub_epi32(add_lanes(sums[m]), shift));
}

void dot_avx2(const Int8Rows& x, std::size_t first, std::size_t count, const std::int8_t* w, std::size_t n,
              std::int32_t* y, std::size_t y_stride) {
  const std::size_t k = x.inputs();
  std::size_t j = 0;
  for (; j + 4 <= n; j += 4) {
    std::size_t i = 0;
    for (; i + 2 <= count; i += 2) block_avx2<2, 4>(x, first + i, w + j * k, y + i * y_stride + j, y_stride);
    if (i < count) block_avx2<1, 4>(x, first + i, w + j * k, y + i * y_stride + j, y_stride);
  }
  for (; j < n; ++j)
    for (std::size_t i = 0; i < count; ++i) block_avx2<1, 1>(x, first + i, w + j * k, y + i * y_stride + j, y_stride);
}

// Rows of w that are no group of four any more: they are few.
void rest_vnni(const Int8Rows& x, std::size_t first, std::size_t count, const std::int8_t* w,
               const std::int32_t* w_sums, std::size_t n, std::int32_t* y, std::size_t y_stride) {
  const std::size_t k = x.inputs();
  for (std::size_t i = 0; i < count; ++i) {
    const auto* left = static_cast<const std::uint8_t*>(x.row(first + i));
    for (std::size_t j = 0; j < n; ++j) {
      std::uint32_t sum = 0;
      for (std::size_t at = 0; at < k; ++at) sum += static_cast<std::uint32_t>(left[at] * w[j * k + at]);
      y[i * y_stride + j] = static_cast<std::int32_t>(sum - (static_cast<std::uint32_t>(w_sums[j]) << 7));
    }
  }
}

void dot_vnni(const Int8Rows& x, std::size_t first, std::size_t count, const std::int8_t* w, const std::int32_t* w_sums,
              std::size_t n, std::int32_t* y, std::size_t y_stride) {
  const std::size_t k = x.inputs();
  std::size_t j = 0;
  for (; j + 4 <= n; j += 4) {
    std::size_t i = 0;
    for (; i + 4 <= count; i += 4) block_vnni<4>(x, first + i, w + j * k, w_sums + j, y + i * y_stride + j, y_stride);
    for (; i < count; ++i) block_vnni<1>(x, first + i, w + j * k, w_sums + j, y + i * y_stride + j, y_stride);
  }
  rest_vnni(x, first, count, w + j * k, w_sums + j, n - j, y + j, y_stride);
}
#endif

}  // namespace

IntegerIsa best_integer_isa() {
#if defined(__x86_64__)
  static const bool vnni =
      __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  static const bool avx2 = __builtin_cpu_supports("avx2");
  return vnni ? IntegerIsa::kVnni : avx2 ? IntegerIsa::kAvx2 : IntegerIsa::kScalar;
#else
  return IntegerIsa::kScalar;
#endif
}

Int8Rows::Int8Rows(IntegerIsa isa, const std::int8_t* x, std::size_t m, std::size_t k)
    : isa_(isa), m_(m), k_(k), stride_(isa == IntegerIsa::kVnni ? (k + kBlock - 1) / kBlock * kBlock : k) {
  if (isa == IntegerIsa::kAvx2) {
    halves_.assign(x, x + m * k);
    return;
  }
  bytes_.resize(m * stride_);
  const int shift = isa == IntegerIsa::kVnni ? 128 : 0;
  for (std::size_t row = 0; row < m; ++row)
    for (std::size_t i = 0; i < k; ++i) bytes_[row * stride_ + i] = static_cast<std::int8_t>(x[row * k + i] + shift);
}

const void* Int8Rows::row(std::size_t index) const {
  if (isa_ == IntegerIsa::kAvx2) return halves_.data() + index * stride_;
  return bytes_.data() + index * stride_;
}

std::vector<std::int32_t> int8_sums(const std::int8_t* w, std::size_t n, std::size_t k) {
  std::vector<std::int32_t> out(n);
  for (std::size_t row = 0; row < n; ++row)
    for (std::size_t i = 0; i < k; ++i) out[row] += w[row * k + i];
  return out;
}

void dot_int8(const Int8Rows& x, std::size_t first, std::size_t count, const std::int8_t* w,
              [[maybe_unused]] const std::int32_t* w_sums, std::size_t n, std::int32_t* y, std::size_t y_stride) {
#if defined(__x86_64__)
  if (x.isa() == IntegerIsa::kAvx2) return dot_avx2(x, first, count, w, n, y, y_stride);
  if (x.isa() == IntegerIsa::kVnni) return dot_vnni(x, first, count, w, w_sums, n, y, y_stride);
#endif
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < n; ++j)
      y[i * y_stride + j] =
          dot_scalar(static_cast<const std::int8_t*>(x.row(first + i)), w + j * x.inputs(), x.inputs());
}

}  // namespace calkit::exec
