#include "calkit/base/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace calkit {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string fault(std::string_view text) {
  const auto table = parse_csv(text, "t.csv");
  return table.ok() ? "accepted" : table.error().message;
}

// The rows that Python's csv module reads from the same text.
TEST(Csv, QuotesCommasAndLineEndsInsideCells) {
  const auto table = parse_csv("a,b,c\r\n1,\"x,\"\"y\"\"\",\r\n\"two\nlines\",,3", "t.csv");
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_THAT(table->header, ElementsAre("a", "b", "c"));
  ASSERT_EQ(table->rows.size(), 2u);
  EXPECT_THAT(table->rows[0].cells, ElementsAre("1", "x,\"y\"", ""));
  EXPECT_EQ(table->rows[0].line, 2u);
  EXPECT_THAT(table->rows[1].cells, ElementsAre("two\nlines", "", "3"));
  EXPECT_EQ(table->rows[1].line, 3u);
  EXPECT_EQ(table->column("c"), 2u);
  EXPECT_EQ(table->column("d"), std::nullopt);
}

TEST(Csv, ABomAndEmptyLinesAreNoRows) {
  const auto table = parse_csv(
      "\xEF\xBB\xBF"
      "a,b\n\n1,2\n\n",
      "t.csv");
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_THAT(table->header, ElementsAre("a", "b"));
  EXPECT_EQ(table->rows.size(), 1u);
}

TEST(Csv, FaultsNameTheLine) {
  EXPECT_THAT(fault(""), HasSubstr("header"));
  EXPECT_THAT(fault("a,b\n1,2\n1,2,3\n"), AllOf(HasSubstr("line 3"), HasSubstr("3 cells"), HasSubstr("2, as the")));
  EXPECT_THAT(fault("a,b\n1,\"2\n"), AllOf(HasSubstr("line 2"), HasSubstr("without its end")));
  EXPECT_THAT(fault("a,b\n1,\"2\"x\n"), HasSubstr("behind a closing quote"));
  EXPECT_THAT(fault("a,b\n1,2\"\n"), HasSubstr("inside a bare cell"));
  EXPECT_THAT(fault("a,a\n1,2\n"), AllOf(HasSubstr("line 1"), HasSubstr("'a' twice")));
  EXPECT_THAT(fault("a,\n1,2\n"), AllOf(HasSubstr("line 1"), HasSubstr("without a name")));
  EXPECT_THAT(fault("a\n\xFF\n"), HasSubstr("UTF-8"));
}

}  // namespace
}  // namespace calkit
