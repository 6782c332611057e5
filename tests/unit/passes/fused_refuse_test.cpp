// Calls of calkit.fused that are refused: each names the operand, what it found and what is allowed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "fused_calls.h"

namespace calkit::fused {
namespace {

struct Hostile {
  const char* label;
  FusedCall call;
  const char* message;  ///< a part of what the kernel says
  bool by_both = true;  ///< false: the function allows it, the kernel is stricter
};

void PrintTo(const Hostile& hostile, std::ostream* out) {
  *out << hostile.label;
}

onnx::Attribute k_of(std::int64_t k) {
  return onnx::attr("k", Shape{k});
}
onnx::Attribute to_of(std::int64_t type) {
  return onnx::attr("to", type);
}

Tensor with(Tensor x, std::size_t at, float value) {
  x.mutable_data<float>()[at] = value;
  return x;
}

std::vector<Hostile> norms_and_products() {
  Draw d(DType::kF32);
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const auto x = d.floats({2, 8}), w = d.floats({4, 8});
  const std::set<std::string> fixed = {"w", "weight", "addend", "w_scale"};
  return {
      {"norm_of_another_width", {"", "RmsNorm", {x, d.floats({7})}, fixed, {}}, "[7]"},
      {"norm_and_quantise_another_width", {"", "RmsNormQuantize", {x, d.floats({9})}, fixed, {}}, "[9]"},
      {"nan_to_quantise", {"", "QuantizePerToken", {with(d.floats({2, 8}), 9, nan)}, {}, {}}, "not finite in row 1"},
      {"infinity_to_quantise",
       {"", "QuantizePerToken", {with(d.floats({2, 8}), 3, -inf)}, {}, {}},
       "not finite in row 0"},
      {"nan_in_a_norm",
       {"", "RmsNormQuantize", {with(d.floats({2, 8}), 0, nan), d.floats({8})}, fixed, {}},
       "not finite"},
      {"nan_in_a_gate", {"", "SwiGluQuantize", {with(d.floats({2, 8}), 0, nan), x}, {}, {}}, "not finite"},
      {"gate_and_up_differ", {"", "SwiGluQuantize", {x, d.floats({3, 8})}, {}, {}}, "[3, 8]"},
      {"weights_of_another_k", {"", "Linear", {x, d.floats({4, 7})}, fixed, {}}, "a last axis of 7"},
      {"weights_of_rank_3", {"", "Linear", {x, d.floats({1, 4, 8})}, fixed, {}}, "rank 2"},
      {"computed_weights_of_another_k", {"", "Linear", {x, d.floats({4, 7})}, {}, {}}, "a last axis of 7"},
      {"a_number_times_weights", {"", "Linear", {d.floats({}), w}, fixed, {}}, "a last axis of 8"},
      {"weights_of_another_type", {"", "Linear", {x, d.floats(DType::kBF16, {4, 8})}, fixed, {}}, "bf16"},
      {"bias_too_short", {"", "LinearAdd", {x, w, d.floats({3})}, fixed, {}}, "[3]"},
      {"residual_of_other_rows", {"", "LinearAddAdd", {x, w, d.floats({4}), d.floats({3, 4})}, fixed, {}}, "[3, 4]"},
  };
}

std::vector<Hostile> quantized() {
  Draw d(DType::kF32);
  const auto q = d.bytes({2, 8}), w = d.bytes({4, 8});
  const auto scale = d.scales({2, 1}), w_scale = d.scales({4});
  const std::set<std::string> fixed = {"w", "w_scale"};
  const auto linear = [&](const char* label, std::vector<Tensor> operands, const char* message, bool by_both = true,
                          std::int64_t to = 1) {
    return Hostile{label, {"", "QuantizedLinear", std::move(operands), fixed, {to_of(to)}}, message, by_both};
  };
  return {
      linear("quantised_weights_of_another_k", {q, scale, d.bytes({4, 9}), w_scale}, "a last axis of 9"),
      linear("no_scale_for_each_row", {q, scale, w, d.scales({5})}, "[5]"),
      linear("no_scale_for_each_token", {q, d.scales({1, 1}), w, w_scale}, "[1, 1]", false),
      linear("activations_that_are_no_int8", {d.floats({2, 8}), scale, w, w_scale}, "f32 [2, 8]"),
      linear("to_an_integer", {q, scale, w, w_scale}, "to = 7", false, 7),
      {"an_addend_of_another_type",
       {"", "QuantizedLinearAdd", {q, scale, w, w_scale, d.floats(DType::kBF16, {4})}, fixed, {to_of(1)}},
       "bf16 [4]"},
  };
}

std::vector<Hostile> attention() {
  Draw d(DType::kF32);
  const auto q = d.floats({1, 4, 3, 8});
  const auto heads = [&](std::int64_t tokens, std::int64_t n, std::int64_t width) {
    return d.floats({1, tokens, n, width});
  };
  const auto table = d.floats({1, 3, 4});
  return {
      {"heads_that_do_not_divide",
       {"", "FlashAttention", {q, d.floats({1, 3, 5, 8}), d.floats({1, 3, 5, 8})}, {}, {}},
       "3 heads"},
      {"keys_and_values_differ",
       {"", "FlashAttention", {q, d.floats({1, 2, 5, 8}), d.floats({1, 2, 6, 8})}, {}, {}},
       "6 tokens"},
      {"another_head_size", {"", "FlashAttention", {q, d.floats({1, 2, 5, 6}), d.floats({1, 2, 5, 8})}, {}, {}}, "6"},
      {"merged_query", {"", "FlashAttention", {d.floats({1, 3, 32}), q, q}, {}, {}}, "rank 4"},
      {"odd_head", {"", "RopeScatter", {heads(3, 2, 7), heads(3, 1, 7), heads(3, 1, 7), table, table}, {}, {}}, "even"},
      {"tables_of_other_tokens",
       {"", "RopeScatter", {heads(2, 2, 8), heads(2, 1, 8), heads(2, 1, 8), table, table}, {}, {}},
       "[1, 3, 4]"},
      {"key_of_other_tokens",
       {"", "RopeScatter", {heads(3, 2, 8), heads(2, 1, 8), heads(3, 1, 8), table, table}, {}, {}},
       "[1, 2, 1, 8]"},
      {"past_of_other_heads",
       {"",
        "RopeScatterPast",
        {heads(3, 2, 8), heads(3, 1, 8), heads(3, 1, 8), table, table, d.floats({1, 2, 4, 8}), d.floats({1, 1, 4, 8})},
        {},
        {}},
       "[1, 2, 4, 8]"},
  };
}

std::vector<Hostile> experts() {
  Draw d(DType::kF32);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto stack = d.floats({4, 5, 8});
  const auto chosen = [](std::int64_t a, std::int64_t b) { return Tensor::of<std::int64_t>({1, 2}, {a, b}); };
  const auto columns = d.floats({1, 1, 8, 1});
  const std::set<std::string> fixed = {"stack", "w"};
  return {
      {"expert_out_of_range", {"", "GroupedDense", {stack, chosen(0, 4), columns}, fixed, {}}, "expert 4"},
      {"expert_far_below_zero", {"", "GroupedDense", {stack, chosen(-5, 0), columns}, fixed, {}}, "expert -5"},
      {"columns_of_another_k", {"", "GroupedDense", {stack, chosen(0, 1), d.floats({1, 1, 7, 1})}, fixed, {}}, "7"},
      {"columns_of_other_choices", {"", "GroupedDense", {stack, chosen(0, 1), d.floats({1, 3, 8, 1})}, fixed, {}}, "3"},
      {"more_experts_than_there_are", {"", "RouterTopK", {d.floats({2, 4})}, {}, {k_of(5), to_of(1)}}, "k = 5"},
      {"nan_to_route", {"", "RouterTopK", {with(d.floats({2, 4}), 1, nan)}, {}, {k_of(2), to_of(1)}}, "NaN"},
      {"weights_of_other_choices",
       {"", "CombineAdd", {d.floats({3, 2, 8, 1}), d.floats({3, 3}), d.floats({3, 8})}, {}, {}},
       "[3, 3]"},
      {"residual_of_another_size",
       {"", "CombineAdd", {d.floats({3, 2, 8, 1}), d.floats({3, 2}), d.floats({3, 7})}, {}, {}},
       "[3, 7]"},
      {"more_tokens_than_there_are",
       {"", "LinearTopK", {d.floats({1, 8}), d.floats({6, 8})}, fixed, {k_of(7)}},
       "k = 7"},
      {"nan_to_rank", {"", "LinearTopK", {with(d.floats({1, 8}), 0, nan), d.floats({6, 8})}, fixed, {k_of(2)}}, "NaN"},
  };
}

std::vector<Hostile> all() {
  std::vector<Hostile> out;
  for (auto* part : {&norms_and_products, &quantized, &attention, &experts})
    for (Hostile& hostile : part()) out.push_back(std::move(hostile));
  return out;
}

class Refused : public testing::TestWithParam<Hostile> {};

TEST_P(Refused, WithAMessageThatSaysWhat) {
  const FusedCall& call = GetParam().call;
  const auto kernel = run(call, false), function = run(call, true);
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().kind, ErrorKind::kInput);
  EXPECT_THAT(kernel.error().message, testing::HasSubstr(call.op));
  EXPECT_THAT(kernel.error().message, testing::HasSubstr(GetParam().message));
  EXPECT_EQ(function.ok(), !GetParam().by_both);
}

INSTANTIATE_TEST_SUITE_P(Each, Refused, testing::ValuesIn(all()), [](const auto& each) { return each.param.label; });

}  // namespace
}  // namespace calkit::fused
