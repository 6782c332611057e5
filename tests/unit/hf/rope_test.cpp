#include "calkit/hf/rope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint_support.h"

namespace calkit::hf {
namespace {

using testing::HasSubstr;

const std::string kCases = CALKIT_TEST_DATA "/cases/";

// PyTorch's vector power is within one unit in the last place of the exact one.
constexpr double kUnit = 1.2e-7;

void expect_like(const ModelSpec& spec, const Value& want, const std::string& name) {
  const std::vector<float> got = inverse_frequencies(spec);
  const Value::Array& frequencies = *want.find("inv_freq")->if_array();
  ASSERT_EQ(got.size(), frequencies.size()) << name;
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i] / *frequencies[i].if_number(), 1, 2 * kUnit) << name << " pair " << i;
  EXPECT_NEAR(attention_factor(spec), *want.find("attention_factor")->if_number(), 1e-15) << name;
}

TEST(Rope, BothSpellingsOfOneScalingAreTheSame) {
  const auto expected = read_json(kCases + "F07/expected.json");
  ASSERT_TRUE(expected.ok());
  for (const std::string name : {"old_key", "new_key", "none"}) {
    const auto spec = read_spec(kCases + "F07/" + name);
    ASSERT_TRUE(spec.ok()) << spec.error().message;
    EXPECT_EQ(Value(spec->rope.type), *expected->find(name)->find("rope_type"));
    expect_like(*spec, *expected->find(name), name);
  }
}

}  // namespace
}  // namespace calkit::hf
