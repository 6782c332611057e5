#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calkit/base/document.h"
#include "scratch_dir.h"

namespace calkit {
namespace {

using ::testing::HasSubstr;

std::string message(const Result<Value>& result) {
  return result.ok() ? "(accepted)" : result.error().message;
}
std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

struct Refused {
  std::string text;
  std::string says;
};

class JsonRefuses : public ::testing::TestWithParam<Refused> {};
TEST_P(JsonRefuses, WhatAStrictReaderMustNotTake) {
  const Result<Value> result = parse_json(GetParam().text, "f.json");
  ASSERT_FALSE(result.ok()) << GetParam().text;
  EXPECT_EQ(result.error().kind, ErrorKind::kInput);
  EXPECT_THAT(result.error().message, HasSubstr(GetParam().says));
}
INSTANTIATE_TEST_SUITE_P(
    Structure, JsonRefuses,
    ::testing::Values(Refused{"", "f.json:1"}, Refused{"   ", "f.json:1"}, Refused{"{", "f.json:1"},
                      Refused{"[1,]", "f.json:1"}, Refused{"[1 2]", "f.json:1"}, Refused{"{\"a\":1,}", "f.json:1"},
                      Refused{"{\"a\" 1}", "f.json:1"}, Refused{"{a:1}", "f.json:1"}, Refused{"{'a':1}", "f.json:1"},
                      Refused{"{1:1}", "f.json:1"}, Refused{"[1]]", "f.json:1"}, Refused{"[1] x", "f.json:1"},
                      Refused{"1 2", "f.json:1"}, Refused{"[1]//x", "f.json:1"}, Refused{"/**/[1]", "f.json:1"},
                      Refused{"[True]", "f.json:1"}, Refused{"[nul]", "f.json:1"}, Refused{"[,1]", "f.json:1"},
                      Refused{"[\n1,\n\n,]", "f.json:4"}, Refused{"{\"a\":1}{}", "f.json:1"}));
INSTANTIATE_TEST_SUITE_P(
    Numbers, JsonRefuses,
    ::testing::Values(Refused{"[01]", "f.json:1"}, Refused{"[+1]", "f.json:1"}, Refused{"[.5]", "f.json:1"},
                      Refused{"[5.]", "f.json:1"}, Refused{"[1e]", "f.json:1"}, Refused{"[0x10]", "f.json:1"},
                      Refused{"[-]", "f.json:1"}, Refused{"[1_000]", "f.json:1"}, Refused{"[NaN]", "f.json:1"},
                      Refused{"[Infinity]", "f.json:1"}, Refused{"[-Infinity]", "f.json:1"},
                      Refused{"[1e400]", "number overflow"}, Refused{"[-1e400]", "number overflow"},
                      Refused{"[18446744073709551616]", "the integer 18446744073709551616"},
                      Refused{"[-9223372036854775809]", "-2^63 to 2^64-1"}, Refused{"[-0]", "the integer -0"},
                      Refused{"[" + std::string(400, '9') + "]", "number overflow"},
                      Refused{"[\n" + std::string(60, '1') + "]", "f.json:2: found the integer 1111"}));
INSTANTIATE_TEST_SUITE_P(
    Text, JsonRefuses,
    ::testing::Values(Refused{"[\"\xFF\"]", "not UTF-8"}, Refused{"[\"\xC0\xAF\"]", "not UTF-8"},
                      Refused{"[\"\xED\xA0\x80\"]", "not UTF-8"}, Refused{"[\"\xF4\x90\x80\x80\"]", "not UTF-8"},
                      Refused{"\n[\"\xE2\x82\"]", "f.json:2: found the byte 0xe2"},
                      Refused{"\xEF\xBB\xBF[1]", "byte order mark"}, Refused{std::string("[1]\0x", 5), "NUL"},
                      Refused{std::string("[1]\0", 4), "NUL"}, Refused{"[\"\n\"]", "f.json"},
                      Refused{"[\"\t\"]", "control character"}, Refused{"[\"\\x\"]", "f.json:1"},
                      Refused{"[\"\\ud800\"]", "surrogate"}, Refused{"[\"\\udc00\"]", "surrogate"},
                      Refused{"[\"\\ud800\\ud800\"]", "surrogate"}, Refused{"[\"\\u12\"]", "f.json:1"},
                      Refused{"[\"abc]", "f.json:1"}, Refused{"\xFE\xFF", "not UTF-8"}));
INSTANTIATE_TEST_SUITE_P(
    Limits, JsonRefuses,
    ::testing::Values(Refused{"{\"a\":1,\n\"a\":2}", "f.json:2: found key \"a\" given twice (lines 1 and 2)"},
                      Refused{"{\"a\":1,\"\\u0061\":2}", "\"a\" given twice"},
                      Refused{"[{\"x\":{\"k\":1,\"l\":2,\"k\":3}}]", "\"k\" given twice"},
                      Refused{std::string(65, '[') + std::string(65, ']'), "nesting deeper than 64"},
                      Refused{std::string(100000, '['), "nesting deeper than 64"},
                      Refused{repeated("{\"a\":", 65) + "1" + std::string(65, '}'), "nesting deeper than 64"}));

TEST(JsonRead, TakesWhatTheStandardAllows) {
  for (const char* text : {"null",
                           "true",
                           "false",
                           "0",
                           "-1",
                           "1.5",
                           "-0.0",
                           "1e3",
                           "1E-3",
                           "1e+3",
                           "\"\"",
                           "[]",
                           "{}",
                           " [ 1 , 2 ] \r\n",
                           "{\"\":0}",
                           "{\"a\":{\"a\":{}}}",
                           "[\"\\u0000\"]",
                           "[\"\\/\"]",
                           "[\"\xE2\x82\xAC\"]",
                           "[\"\xF0\x9F\x98\x80\"]",
                           "[\"\\ud83d\\ude00\"]",
                           "[\"\x7F\"]",
                           "[\"\xE2\x80\xA8\"]",
                           "[1e-400]",
                           "[123456789012345678901.5]"}) {
    const Result<Value> result = parse_json(text, "f.json");
    EXPECT_TRUE(result.ok()) << text << ": " << message(result);
  }
}

TEST(JsonRead, AllowsExactlyTheStatedDepth) {
  EXPECT_TRUE(parse_json(std::string(64, '[') + std::string(64, ']'), "f").ok());
  EXPECT_FALSE(parse_json("[[[]]]", "f", {.max_depth = 2}).ok());
}

TEST(JsonRead, KeepsAll64BitsOfIntegers) {
  const auto value =
      parse_json("[18446744073709551615,-9223372036854775808,9223372036854775808,9007199254740993]", "f");
  ASSERT_TRUE(value.ok());
  const Value::Array& items = *value->if_array();
  EXPECT_EQ(items[0].if_uint(), UINT64_MAX);
  EXPECT_EQ(items[0].if_int(), std::nullopt);
  EXPECT_EQ(items[1].if_int(), INT64_MIN);
  EXPECT_EQ(items[1].if_uint(), std::nullopt);
  EXPECT_EQ(items[2].if_uint(), 9223372036854775808ull);
  EXPECT_EQ(items[3].if_int(), 9007199254740993);
}

TEST(JsonRead, TellsDoublesFromIntegers) {
  const auto value = parse_json("[3.0,3]", "f");
  ASSERT_TRUE(value.ok());
  EXPECT_TRUE((*value->if_array())[0].is_double());
  EXPECT_TRUE((*value->if_array())[1].is_integer());
}

TEST(JsonRead, KnowsLineAndColumnOfEveryValue) {
  const auto value = parse_json("{\"a\": [1,\n  \"x\\\"y\", {\"b\" : null}],\r\n\t\"c\": -1.5e3 , \"d\":true}", "f");
  ASSERT_TRUE(value.ok()) << message(value);
  const auto place = [](const Value& v) { return std::pair(v.line, v.column); };
  EXPECT_EQ(place(*value), std::pair(1u, 1u));
  EXPECT_EQ(place(*value->find("a")), std::pair(1u, 7u));
  EXPECT_EQ(place((*value->find("a")->if_array())[1]), std::pair(2u, 3u));
  EXPECT_EQ(place(*(*value->find("a")->if_array())[2].find("b")), std::pair(2u, 18u));
  EXPECT_EQ(place(*value->find("c")), std::pair(3u, 7u));
  EXPECT_EQ(place(*value->find("d")), std::pair(3u, 20u));
}

TEST(JsonRead, FindsARepeatedKeyAmongManyOnes) {
  std::string text = "{";
  for (int i = 0; i < 50000; ++i) text += "\"k" + std::to_string(i) + "\":0,";
  EXPECT_TRUE(parse_json(text + "\"new\":1}", "f").ok());
  EXPECT_THAT(message(parse_json(text + "\"k777\":1}", "f")), HasSubstr("\"k777\" given twice"));
}

TEST(JsonRead, RefusesATextLongerThanItsLimit) {
  EXPECT_THAT(message(parse_json("[1,2,3]", "f", {.max_bytes = 6})), HasSubstr("found 7 bytes; allowed: at most 6"));
}

TEST(JsonRead, NamesTheFileAsItWasGiven) {
  const testing_support::ScratchDir dir;
  EXPECT_THAT(message(read_json(dir.write("broken.json", "[1,\n2"))), HasSubstr((dir / "broken.json:2").string()));
  EXPECT_THAT(message(read_json(dir / "none.json")), HasSubstr("none.json: cannot open: No such file"));
}

TEST(JsonLines, SplitsAtLineFeedsOnly) {
  const auto records = parse_json_lines(
      "{\"t\":\"a\xE2\x80\xA8"
      "b\"}\r\n{\"t\":\"c\xC2\x85\"}\n[3]\n",
      "f.jsonl");
  ASSERT_TRUE(records.ok());
  ASSERT_EQ(records->size(), 3u);
  EXPECT_EQ(*(*records)[0].find("t")->if_string(),
            "a\xE2\x80\xA8"
            "b");
  EXPECT_EQ((*records)[2].line, 3u);
}

TEST(JsonLines, NameTheLineOfAFault) {
  EXPECT_THAT(parse_json_lines("[1]\n[2\n", "f.jsonl").error().message, HasSubstr("f.jsonl:2"));
  EXPECT_THAT(parse_json_lines("[1]\n\n[2]\n", "f.jsonl").error().message, HasSubstr("f.jsonl:2: found a blank line"));
  EXPECT_TRUE(parse_json_lines("[1]\n\n", "f.jsonl").ok());
  EXPECT_TRUE(parse_json_lines("", "f.jsonl").ok());
}

}  // namespace
}  // namespace calkit
