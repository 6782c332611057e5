#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calkit/base/document.h"

namespace calkit {
namespace {

using ::testing::HasSubstr;

class CursorTest : public ::testing::Test {
 protected:
  Value document_ = parse_yaml(
                        "schema: 1\nname: tiny\nversion: 1.10\ncontext: 4096\nflag: true\nnothing: null\n"
                        "list: [3, 1]\n\"a/b~c\": {deep: -1}\n",
                        "m.yaml")
                        .value();
  Cursor root_{document_, "m.yaml"};
};

TEST_F(CursorTest, ReadsEachKindOfField) {
  EXPECT_EQ(*root_.string("name"), "tiny");
  EXPECT_EQ(*root_.integer("context", 1, 4096), 4096);
  EXPECT_EQ(*root_.uinteger("context"), 4096u);
  EXPECT_EQ(*root_.number("context"), 4096.0);
  EXPECT_EQ(*root_.boolean("flag"), true);
  EXPECT_EQ(*root_.at("list")->as_ints(), (std::vector<std::int64_t>{3, 1}));
  EXPECT_EQ(root_.members()->size(), 8u);
  EXPECT_FALSE(root_.find("nothing").has_value());
  EXPECT_FALSE(root_.find("absent").has_value());
}

TEST_F(CursorTest, SaysFileLinePlaceFoundAndAllowed) {
  EXPECT_EQ(root_.integer("context", 1, 2048).error().message,
            "m.yaml:4: /context: found 4096; allowed: an integer from 1 to 2048");
  EXPECT_EQ(root_.integer("name").error().message, "m.yaml:2: /name: found \"tiny\"; allowed: an integer");
  EXPECT_EQ(root_.boolean("context").error().message, "m.yaml:4: /context: found 4096; allowed: true or false");
  EXPECT_EQ(root_.string("absent").error().message, "m.yaml:1: /absent: required field missing");
  EXPECT_EQ(root_.at("name")->at("x").error().message, "m.yaml:2: /name: found \"tiny\"; allowed: an object");
}

TEST_F(CursorTest, EscapesItsPointer) {
  EXPECT_EQ(root_.at("a/b~c")->uinteger("deep").error().message,
            "m.yaml:8: /a~1b~0c/deep: found -1; allowed: an integer >= 0");
  EXPECT_EQ((*root_.at("list")->items())[1].as_int(5, 9).error().message,
            "m.yaml:7: /list/1: found 1; allowed: an integer from 5 to 9");
}

TEST_F(CursorTest, SaysThatAVersionNumberNeedsQuotes) {
  const auto version = root_.string("version");
  ASSERT_FALSE(version.ok());
  EXPECT_THAT(version.error().message, HasSubstr("/version: found 1.1; allowed: a string"));
  EXPECT_EQ(version.error().hint, "put it in quotes");
}

TEST_F(CursorTest, NamesTheNearestKnownKeyAndWord) {
  const Status unknown = root_.only({"schema", "name", "version", "contxt", "flag", "nothing", "list", "a/b~c"});
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().message, HasSubstr("m.yaml:4: /context: found an unknown field; allowed: schema, name"));
  EXPECT_EQ(unknown.error().hint, "did you mean 'contxt'?");
  const auto word = root_.at("name")->as_word({"tinny", "huge"});
  ASSERT_FALSE(word.ok());
  EXPECT_THAT(word.error().message, HasSubstr("found \"tiny\"; allowed: tinny | huge"));
  EXPECT_EQ(word.error().hint, "did you mean 'tinny'?");
}

TEST_F(CursorTest, NeverRoundsOrWrapsAnInteger) {
  const Value numbers = parse_json("[-1, 4096.0, 18446744073709551615, true, \"7\"]", "n").value();
  const auto items = Cursor(numbers, "n").items().value();
  EXPECT_FALSE(items[0].as_uint().ok());
  EXPECT_FALSE(items[1].as_int().ok());
  EXPECT_FALSE(items[2].as_int().ok());
  EXPECT_EQ(*items[2].as_uint(), UINT64_MAX);
  EXPECT_FALSE(items[3].as_int().ok());
  EXPECT_FALSE(items[4].as_int().ok());
}

TEST(CursorCopies, OutliveTheirParent) {
  const Value document = Value::object({{"a", Value::object({{"b", 1}})}});
  const auto inner = [&] { return Cursor(document, "temporary name").at("a").value(); }();
  EXPECT_EQ(inner.string("b").error().message, "temporary name: /a/b: found 1; allowed: a string");
}

TEST(NearestWord, IsEmptyWhenNothingIsNear) {
  EXPECT_EQ(nearest_word("contxt", {"context", "batch"}), "context");
  EXPECT_EQ(nearest_word("zzzzzzzz", {"context", "batch"}), "");
  EXPECT_EQ(nearest_word(std::string(1 << 20, 'x'), {"context"}), "");
  EXPECT_EQ(nearest_word("x", {}), "");
}

}  // namespace
}  // namespace calkit
