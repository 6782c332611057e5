#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calkit/base/document.h"

namespace calkit {
namespace {

using ::testing::HasSubstr;

std::string one_line(std::string_view yaml) {
  const auto value = parse_yaml(yaml, "f.yaml");
  return value.ok() ? to_json(*value, {.sorted = false, .indent = -1}) : value.error().message;
}

TEST(YamlRead, TakesTheSafeSubset) {
  EXPECT_EQ(one_line("a: 1\nb: -2.5\nc: text with spaces\nd: 'quoted'\ne: [x, {k: z}]\nf: null\ng: true\nh: false\n"),
            "{\"a\":1,\"b\":-2.5,\"c\":\"text with spaces\",\"d\":\"quoted\",\"e\":[\"x\",{\"k\":\"z\"}],\"f\":null,"
            "\"g\":true,\"h\":false}");
  EXPECT_EQ(one_line("---\n# a comment\n- 1\n- - 2\n  - 3\n...\n"), "[1,[2,3]]");
  EXPECT_EQ(one_line("a:\nb: |\n  one\n  two\nc: >\n  one\n  two\n"),
            "{\"a\":null,\"b\":\"one\\ntwo\\n\",\"c\":\"one two\\n\"}");
  EXPECT_EQ(one_line("a: \"0x10\"\nb: '010'\nc: \"no\"\n"), "{\"a\":\"0x10\",\"b\":\"010\",\"c\":\"no\"}");
  EXPECT_EQ(one_line("a: '\xE2\x82\xAC'\nb: 'it''s'\nc: \"\\\"\\\\\"\nd: ''\ne:\nNext: [k: , NULLx]\n"),
            "{\"a\":\"\xE2\x82\xAC\",\"b\":\"it's\",\"c\":\"\\\"\\\\\",\"d\":\"\",\"e\":null,\"Next\":[{\"k\":null},"
            "\"NULLx\"]}");
  EXPECT_EQ(one_line("{\"a\": [1, 2.0], \"b\": \"c\"}"), "{\"a\":[1,2.0],\"b\":\"c\"}");
}

TEST(YamlRead, LeavesTextThatOnlyLooksLikeANumberAlone) {
  EXPECT_EQ(
      one_line("[0.7.6, 1.2.3-rc1, 16 GiB, qwen3, v1.0, 3a, a1, -x, nan, inf, 1-2, e3, 10.0.0.1:80x, 0xzz]"),
      "[\"0.7.6\",\"1.2.3-rc1\",\"16 GiB\",\"qwen3\",\"v1.0\",\"3a\",\"a1\",\"-x\",\"nan\",\"inf\",\"1-2\",\"e3\","
      "\"10.0.0.1:80x\",\"0xzz\"]");
}

TEST(YamlRead, ReadsPlainNumbersExactly) {
  EXPECT_EQ(one_line("[0, 18446744073709551615, -9223372036854775808, 1.10, 0.5, -0.0, 1.0e-9, 2.5E+3]"),
            "[0,18446744073709551615,-9223372036854775808,1.1,0.5,-0.0,1e-09,2500.0]");
}

class YamlRefusesPlain : public ::testing::TestWithParam<const char*> {};
TEST_P(YamlRefusesPlain, WhatYamlReadersDisagreeAbout) {
  const auto value = parse_yaml(std::string("schema: 1\nx: ") + GetParam() + "\n", "f.yaml");
  ASSERT_FALSE(value.ok());
  EXPECT_THAT(value.error().message, HasSubstr("f.yaml:2: found "));
  EXPECT_EQ(value.error().kind, ErrorKind::kInput);
}
INSTANTIATE_TEST_SUITE_P(Scalars, YamlRefusesPlain,
                         ::testing::Values("010", "0010", "00", "0x10", "0xA000", "0o17", "0b101", "+5", "-010", "+0x1",
                                           "40_960", "1_000.5", "1e3", "4.096e4", "1.5e3", "1E-9", "12345e67", ".5",
                                           "5.", "-.5", ".nan", ".NaN", ".inf", "-.inf", "+.INF", "12:30:45", "190:20",
                                           "2026-01-31", "2026-1-3", "2026-01-31T00:00:00Z", "yes", "No", "ON", "off",
                                           "y", "N", "True", "FALSE", "Null", "NULL", "~", "=", "<<", "-0",
                                           "18446744073709551616", "-9223372036854775809", "1.0e+999"));

struct Refused {
  std::string text;
  std::string says;
};
class YamlRefuses : public ::testing::TestWithParam<Refused> {};
TEST_P(YamlRefuses, WhatIsOutsideTheSafeSubset) {
  const auto value = parse_yaml(GetParam().text, "f.yaml");
  ASSERT_FALSE(value.ok()) << GetParam().text.substr(0, 80);
  EXPECT_EQ(value.error().kind, ErrorKind::kInput);
  EXPECT_THAT(value.error().message, HasSubstr(GetParam().says));
}
std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}
INSTANTIATE_TEST_SUITE_P(
    Documents, YamlRefuses,
    ::testing::Values(Refused{"a: &x 1\nb: *x\n", "f.yaml:1: found an anchor"}, Refused{"a: 1\nb: *x\n", "f.yaml:2"},
                      Refused{"&x [*x]", "an anchor"}, Refused{"a: !!str 1\n", "a tag"}, Refused{"a: !x {}\n", "a tag"},
                      Refused{"a: ! 1\n", "a tag"}, Refused{"- !!python/object:os.system x\n", "a tag"},
                      Refused{"a: 1\n<<: {b: 2}\n", "f.yaml:2: found <<"},
                      Refused{"a: 1\n---\nb: 2\n", "a second document"}, Refused{"a: 1\n---\n", "a second document"},
                      Refused{"%YAML 1.1\n---\na: 1\n", "a directive"},
                      Refused{"# c\n%TAG ! tag:x,2000:\n---\na: 1\n", "f.yaml:2: found a directive"},
                      Refused{"", "empty"}, Refused{"# only a comment\n", "empty"},
                      Refused{"a: 1\nb: 2\na: 3\n", "f.yaml:3: found key \"a\" given twice (lines 1 and 3)"},
                      Refused{"m:\n  d: 1\n  'd': 2\n", "\"d\" given twice"}, Refused{"1: x\n", "the key 1"},
                      Refused{"no: x\n", "found no"}, Refused{"null: x\n", "a key that is null"},
                      Refused{"? [a]\n: x\n", "a key that is no scalar"},
                      Refused{"{[a]: x}", "a key that is no scalar"}, Refused{"a: b: c\n", "f.yaml:1"},
                      Refused{"a: [1\n", "f.yaml"},
                      Refused{"b: \xE2\x82\xAC\na: 'it''s \n", "f.yaml:2: found a quote that is never closed"},
                      Refused{"a: \"x\\\"\n", "f.yaml:1"}, Refused{"a: 'x", "f.yaml:1"},
                      Refused{"\ta: 1\n", "f.yaml:1"}, Refused{"a: \xFF\n", "not UTF-8"},
                      Refused{"\xEF\xBB\xBF"
                              "a: 1\n",
                              "byte order mark"},
                      Refused{"a: 1\nb: \x04\nc: 2\n", "f.yaml:2: found the control character"},
                      Refused{std::string("a\0b: 1\n", 7), "NUL"}, Refused{"\xFE\xFF\0a", "UTF-8"}));
INSTANTIATE_TEST_SUITE_P(Depth, YamlRefuses,
                         ::testing::Values(Refused{repeated("- ", 65) + "x", "nesting deeper than 64"},
                                           Refused{repeated("- ", 100000) + "x", "nesting deeper than 64"},
                                           Refused{repeated("[\n", 100000), "f.yaml:1"},
                                           Refused{repeated("[", 100000), "f.yaml:1"},
                                           Refused{repeated("{a: ", 100000), "f.yaml:1"},
                                           Refused{repeated("[", 65) + repeated("]", 65), "nesting deeper than 64"},
                                           Refused{repeated("? ", 100000), "a key that is no scalar"}));

TEST(YamlRead, AllowsExactlyTheStatedDepth) {
  EXPECT_TRUE(parse_yaml(repeated("- ", 64) + "x", "f").ok());
  EXPECT_TRUE(parse_yaml(repeated("[", 64) + repeated("]", 64), "f").ok());
}

TEST(YamlRead, KnowsTheLineOfEveryValue) {
  const auto value = parse_yaml("# c\na: 1\nb:\n  - x\n  - {c: 2}\n", "f");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->find("a")->line, 2u);
  EXPECT_EQ((*value->find("b")->if_array())[1].find("c")->line, 5u);
  EXPECT_EQ(value->find("a")->column, 4u);
}

TEST(YamlRead, TakesAnAliasBombApartBeforeItExpands) {
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + ", " + before + "]\n";
  }
  EXPECT_THAT(one_line(bomb), HasSubstr("an anchor"));
}

TEST(Yaml, RefusesEscapesThatTheLibraryWritesAsLatin1) {
  for (const char* text : {"a: \"\\_\"", "a: \"\\N\"", "\"\\_\": 1"})
    EXPECT_FALSE(parse_yaml(text, "x.yaml").ok()) << text;
  EXPECT_TRUE(parse_yaml("a: \"\\u00a0\"", "x.yaml").ok());
}

}  // namespace
}  // namespace calkit
