// CacheAttention against Attention with past and present, and BF16 against F32. (Attention itself:
// node_cases_test.cpp.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "calkit/exec/kernel.h"

namespace calkit::exec {
namespace {

constexpr std::int64_t kHeads = 6, kKvHeads = 2, kWidth = 40, kCapacity = 32;

Tensor noise(DType dtype, Shape shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Tensor wide = *Tensor::zeros(DType::kF32, std::move(shape));
  for (float& value : wide.mutable_data<float>()) value = normal(random);
  return *convert(wide, dtype);
}

// Tokens [begin, end) of a tensor [B, H, T, D].
Tensor tokens(const Tensor& from, std::int64_t begin, std::int64_t end) {
  Tensor out = *Tensor::zeros(from.dtype(), {from.dim(0), from.dim(1), end - begin, from.dim(3)});
  const std::size_t width = static_cast<std::size_t>(from.dim(3)) * dtype_bytes(from.dtype());
  const auto rows = static_cast<std::size_t>(from.dim(0) * from.dim(1));
  for (std::size_t row = 0; row < rows; ++row)
    std::memcpy(out.mutable_raw() + row * static_cast<std::size_t>(end - begin) * width,
                from.raw() + (row * static_cast<std::size_t>(from.dim(2)) + static_cast<std::size_t>(begin)) * width,
                static_cast<std::size_t>(end - begin) * width);
  return out;
}

Result<std::vector<Tensor>> run(const std::string& domain, const std::string& type,
                                std::vector<onnx::Attribute> attributes, std::vector<const Tensor*> inputs,
                                std::size_t outputs) {
  onnx::Node node;
  node.name = "a";
  node.domain = domain;
  node.op_type = type;
  node.attributes = std::move(attributes);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    node.inputs.push_back(inputs[i] == nullptr ? "" : "i" + std::to_string(i));
  for (std::size_t i = 0; i < outputs; ++i) node.outputs.push_back("o" + std::to_string(i));
  const std::vector<const Tensor*> constants(inputs.size(), nullptr);
  CALKIT_TRY(auto kernel, make_kernel(node, constants, {}));
  std::vector<Tensor> results(outputs);
  CALKIT_CHECK_OK(kernel->run(inputs, [&](std::size_t index, DType dtype, const Shape& shape) -> Result<Tensor> {
    CALKIT_TRY(results[index], Tensor::zeros(dtype, shape));
    return results[index];
  }));
  return results;
}

struct Fixture {
  Tensor q, k, v, k_cache, v_cache;
  explicit Fixture(DType dtype, std::int64_t batch, std::int64_t length)
      : q(noise(dtype, {batch, kHeads, length, kWidth}, 1)),
        k(noise(dtype, {batch, kKvHeads, length, kWidth}, 2)),
        v(noise(dtype, {batch, kKvHeads, length, kWidth}, 3)),
        k_cache(*Tensor::zeros(dtype, {batch, kKvHeads, kCapacity, kWidth})),
        v_cache(*Tensor::zeros(dtype, {batch, kKvHeads, kCapacity, kWidth})) {}
  Result<std::vector<Tensor>> step(std::int64_t begin, std::int64_t end) {
    const std::vector<std::int32_t> past(static_cast<std::size_t>(q.dim(0)), static_cast<std::int32_t>(begin));
    const Tensor q_part = tokens(q, begin, end), k_part = tokens(k, begin, end), v_part = tokens(v, begin, end);
    const Tensor lengths = Tensor::of({q.dim(0)}, past);
    return run("calkit", "CacheAttention", {}, {&q_part, &k_part, &v_part, &k_cache, &v_cache, &lengths}, 1);
  }
};

TEST(CacheAttention, PrefillAndThenTokenByTokenGivesTheBitsOfOneCausalAttention) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    Fixture f(dtype, 2, 19);
    const auto whole = run("", "Attention", {onnx::attr("is_causal", std::int64_t{1})}, {&f.q, &f.k, &f.v}, 1);
    ASSERT_TRUE(whole.ok()) << whole.error().message;
    const auto first = f.step(0, 13);
    ASSERT_TRUE(first.ok()) << first.error().message;
    const Tensor want = tokens((*whole)[0], 0, 13);
    EXPECT_EQ(std::memcmp((*first)[0].raw(), want.raw(), want.bytes()), 0);
    for (std::int64_t at = 13; at < 19; ++at) {
      const auto next = f.step(at, at + 1);
      ASSERT_TRUE(next.ok()) << next.error().message;
      const Tensor row = tokens((*whole)[0], at, at + 1);
      EXPECT_EQ(std::memcmp((*next)[0].raw(), row.raw(), row.bytes()), 0) << "token " << at;
    }
  }
}

TEST(CacheAttention, EqualsAttentionWithPastAndPresent) {
  Fixture f(DType::kF32, 1, 8);
  ASSERT_TRUE(f.step(0, 7).ok());
  const auto cached = f.step(7, 8);
  const Tensor q = tokens(f.q, 7, 8), k = tokens(f.k, 7, 8), v = tokens(f.v, 7, 8);
  const Tensor past_k = tokens(f.k, 0, 7), past_v = tokens(f.v, 0, 7);
  const auto plain = run("", "Attention", {}, {&q, &k, &v, nullptr, &past_k, &past_v}, 3);
  ASSERT_TRUE(cached.ok() && plain.ok());
  EXPECT_EQ(std::memcmp((*cached)[0].raw(), (*plain)[0].raw(), (*plain)[0].bytes()), 0);
  EXPECT_EQ((*plain)[1].shape(), (Shape{1, kKvHeads, 8, kWidth}));
  EXPECT_EQ(std::memcmp((*plain)[1].raw(), f.k.raw(), f.k.bytes()), 0);
}

TEST(CacheAttention, ATokenTooManyIsRefusedAndNamesTheCapacity) {
  Fixture f(DType::kF32, 1, kCapacity + 1);
  ASSERT_TRUE(f.step(0, kCapacity).ok());
  const auto over = f.step(kCapacity, kCapacity + 1);
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.error().kind, ErrorKind::kInput);
  EXPECT_THAT(over.error().message, testing::HasSubstr("found past 32 and 1 new tokens; allowed: 32 in the cache"));
}

// Scores before and after the scale, probabilities and the output, each rounded: as Transformers' eager attention.
double rounded_attention(const Tensor& q, const Tensor& k, const Tensor& v, std::size_t head, std::size_t token,
                         std::size_t column) {
  const std::size_t width = static_cast<std::size_t>(kWidth), length = static_cast<std::size_t>(q.dim(2));
  const std::size_t shared = head / static_cast<std::size_t>(kHeads / kKvHeads);
  const auto a = *to_floats(q), b = *to_floats(k), c = *to_floats(v);
  std::vector<double> p(token + 1);
  double sum = 0, y = 0;
  for (std::size_t j = 0; j <= token; ++j) {
    double dot = 0;
    for (std::size_t d = 0; d < width; ++d)
      dot += static_cast<double>(a[(head * length + token) * width + d]) * b[(shared * length + j) * width + d];
    const float scale = static_cast<float>(1 / std::sqrt(static_cast<double>(kWidth)));
    sum += p[j] = std::exp(static_cast<double>(round_bf16(round_bf16(static_cast<float>(dot)) * scale)));
  }
  for (std::size_t j = 0; j <= token; ++j)
    y += static_cast<double>(round_bf16(static_cast<float>(p[j] / sum))) * c[(shared * length + j) * width + column];
  return y;
}

TEST(Attention, Bf16RoundsScoresProbabilitiesAndOutput) {
  Fixture f(DType::kBF16, 1, 24);
  const auto causal = onnx::attr("is_causal", std::int64_t{1});
  const auto results = run("", "Attention", {causal}, {&f.q, &f.k, &f.v}, 1);
  ASSERT_TRUE(results.ok());
  const auto got = *to_floats((*results)[0]);
  std::size_t same = 0, all = 0;
  for (std::size_t head = 0; head < static_cast<std::size_t>(kHeads); ++head)
    for (std::size_t token : {0u, 5u, 23u})
      for (std::size_t column : {0u, 17u, 39u}) {
        const double want = rounded_attention(f.q, f.k, f.v, head, token, column);
        const float value = got[(head * 24 + token) * static_cast<std::size_t>(kWidth) + column];
        EXPECT_NEAR(value, want, std::fabs(want) / 128 + 1e-3);  // a sum in another order may round the other way
        same += value == round_bf16(static_cast<float>(want));
        ++all;
      }
  EXPECT_GE(same * 10, all * 9);
}

}  // namespace
}  // namespace calkit::exec
