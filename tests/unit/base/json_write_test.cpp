#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "calkit/base/document.h"

namespace calkit {
namespace {

std::string line(const Value& value) {
  return to_json(value, {.indent = -1});
}

TEST(JsonWrite, SortsKeysByTheirBytes) {
  const Value value = Value::object({{"b", 1}, {"a", Value::object({{"z", 1}, {"Z", 2}})}, {"\xC3\xA4", 3}});
  EXPECT_EQ(line(value), "{\"a\":{\"Z\":2,\"z\":1},\"b\":1,\"\xC3\xA4\":3}");
  EXPECT_EQ(to_json(value, {.sorted = false, .indent = -1}), "{\"b\":1,\"a\":{\"z\":1,\"Z\":2},\"\xC3\xA4\":3}");
}

TEST(JsonWrite, KeepsListsOfNumbersOnOneLine) {
  EXPECT_EQ(to_json(Value::object(
                {{"shape", Value::array({1, 2})}, {"names", Value::array({"x"})}, {"none", Value::array()}})),
            "{\n  \"names\": [\n    \"x\"\n  ],\n  \"none\": [],\n  \"shape\": [1, 2]\n}");
}

TEST(JsonWrite, WritesADoubleSoThatItComesBackAsADouble) {
  EXPECT_EQ(line(Value(3.0)), "3.0");
  EXPECT_EQ(line(Value(-0.0)), "-0.0");
  EXPECT_EQ(line(Value(0.1)), "0.1");
  EXPECT_EQ(line(Value(1e300)), "1e+300");
  EXPECT_EQ(line(Value(std::nan(""))), "null");
  EXPECT_EQ(line(Value(-std::numeric_limits<double>::infinity())), "null");
}

TEST(JsonWrite, ReadsBackEveryDoubleItWrote) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    const double number = std::bit_cast<double>(random());
    if (!std::isfinite(number)) continue;
    const auto back = parse_json(line(Value(number)), "f");
    ASSERT_TRUE(back.ok()) << line(Value(number));
    ASSERT_TRUE(back->is_double());
    EXPECT_EQ(std::bit_cast<std::uint64_t>(*back->if_number()), std::bit_cast<std::uint64_t>(number));
  }
}

TEST(JsonWrite, WritesIntegersExactly) {
  EXPECT_EQ(line(Value::array({INT64_MIN, UINT64_MAX, 0})), "[-9223372036854775808,18446744073709551615,0]");
}

TEST(JsonWrite, EscapesWhatMustBeEscapedAndNothingElse) {
  EXPECT_EQ(line(Value(std::string("\"\\\n\r\t\0\x1F/\x7F", 9))), "\"\\\"\\\\\\n\\r\\t\\u0000\\u001f/\x7F\"");
  EXPECT_EQ(line(Value("\xF0\x9F\x98\x80")), "\"\xF0\x9F\x98\x80\"");
}

TEST(JsonWrite, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(line(Value("a\xFF\xFE"
                       "b")),
            "\"a\xEF\xBF\xBD\xEF\xBF\xBD"
            "b\"");
  EXPECT_TRUE(parse_json(line(Value("\xE2\x82")), "f").ok());
}

TEST(JsonWrite, RoundTripsADocument) {
  const std::string text = "{\"a\":[1,-2,3.5,null,true,{\"b\":\"x\\ny\"}],\"c\":{},\"d\":18446744073709551615}";
  const auto value = parse_json(text, "f");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(line(*value), text);
  const auto again = parse_json(to_json(*value), "f");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *value);
}

}  // namespace
}  // namespace calkit
