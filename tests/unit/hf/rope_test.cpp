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

TEST(Rope, EveryTypeIsThatOfTransformers) {
  const auto cases = read_json(CALKIT_TEST_DATA "/rope_cases.json");
  ASSERT_TRUE(cases.ok()) << cases.error().message;
  std::size_t pairs = 0, equal = 0;
  for (const Value& one : *cases->if_array()) {
    const Value& config = *one.find("config");
    const auto spec = parse_spec(Cursor(config, "config.json"));
    ASSERT_TRUE(spec.ok()) << spec.error().message;
    expect_like(*spec, one, to_json(*config.find("rope_scaling"), {.indent = -1}));
    const std::vector<float> got = inverse_frequencies(*spec);
    for (std::size_t i = 0; i < got.size(); ++i, ++pairs)
      equal += got[i] == static_cast<float>(*(*one.find("inv_freq")->if_array())[i].if_number());
  }
  EXPECT_GE(static_cast<double>(equal), 0.99 * static_cast<double>(pairs)) << equal << " of " << pairs;
}

TEST(Rope, DynamicHasNoEffectUpToTheTrainedContextAndSaysSo) {
  Value config = *read_json(kCases + "F07/none/config.json");
  const auto plain = parse_spec(Cursor(config, "config.json"));
  config.set("rope_scaling", Value::object({{"type", "dynamic"}, {"factor", 4.0}}));
  const auto dynamic = parse_spec(Cursor(config, "config.json"));
  ASSERT_TRUE(plain.ok() && dynamic.ok());
  EXPECT_EQ(inverse_frequencies(*dynamic), inverse_frequencies(*plain));
  EXPECT_THAT(dynamic->notes, testing::Contains(HasSubstr("dynamic")));
}

TEST(Rope, AnUnknownTypeIsRefusedByName) {
  Value config = *read_json(kCases + "F07/none/config.json");
  for (const char* key : {"type", "rope_type"}) {
    config.set("rope_scaling", Value::object({{key, "longrope"}, {"factor", 4.0}}));
    EXPECT_THAT(
        message_of(parse_spec(Cursor(config, "config.json"))),
        testing::AllOf(HasSubstr(std::string("/rope_scaling/") + key), HasSubstr("longrope"), HasSubstr("yarn")));
  }
}

}  // namespace
}  // namespace calkit::hf
