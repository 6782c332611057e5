/// Errors of the document readers say in a code what was refused, and keep the limits they are given.
#include <gtest/gtest.h>

#include "calkit/base/document.h"

namespace calkit {
namespace {

ReadProblem json(std::string_view text, const ReadLimits& limits = {}) {
  const auto read = parse_json(text, "f", limits);
  return read.ok() ? ReadProblem::kNone : read.error().read_problem;
}
ReadProblem yaml(std::string_view text, const ReadLimits& limits = {}) {
  const auto read = parse_yaml(text, "f", limits);
  return read.ok() ? ReadProblem::kNone : read.error().read_problem;
}

TEST(ReadProblems, OfJson) {
  EXPECT_EQ(json("[1"), ReadProblem::kSyntax);
  EXPECT_EQ(json(""), ReadProblem::kSyntax);
  EXPECT_EQ(json("[1] x"), ReadProblem::kSyntax);
  EXPECT_EQ(json("[NaN]"), ReadProblem::kSyntax);
  EXPECT_EQ(json("\"\xFF\""), ReadProblem::kEncoding);
  EXPECT_EQ(json("\xEF\xBB\xBF[]"), ReadProblem::kEncoding);
  EXPECT_EQ(json(R"({"a": 1, "\u0061": 2})"), ReadProblem::kDuplicateKey);
  EXPECT_EQ(json("[18446744073709551616]"), ReadProblem::kNumber);
  EXPECT_EQ(json("[-0]"), ReadProblem::kNumber);
  EXPECT_EQ(json("[1e400]"), ReadProblem::kNumber);
  EXPECT_EQ(json(std::string(65, '[')), ReadProblem::kLimit);
  EXPECT_EQ(json("[1]"), ReadProblem::kNone);
}

TEST(ReadProblems, OfYaml) {
  EXPECT_EQ(yaml("a: b: c"), ReadProblem::kSyntax);
  EXPECT_EQ(yaml(""), ReadProblem::kSyntax);
  EXPECT_EQ(yaml("a: \x01"), ReadProblem::kEncoding);
  EXPECT_EQ(yaml("a: 1\na: 2\n"), ReadProblem::kDuplicateKey);
  for (const char* text : {"a: 010", "a: 0x10", "a: +5", "a: no", "a: .nan", "a: ~"})
    EXPECT_EQ(yaml(text), ReadProblem::kScalar) << text;
  for (const char* text :
       {"a: &x 1\n", "a: 1\nb: *a\n", "a: !!int 1\n", "<<: {a: 1}\n", "%YAML 1.2\n---\na: 1\n", "a: 1\n---\nb: 2\n"})
    EXPECT_EQ(yaml(text), ReadProblem::kYamlFeature) << text;
  EXPECT_EQ(yaml("a: '010'\nb: \"no\"\n"), ReadProblem::kNone);
}

TEST(ReadLimits, CountValuesAndBytesOfStrings) {
  ReadLimits limits;
  limits.max_entries = 4;
  EXPECT_EQ(json(R"({"a": [1, 2]})", limits), ReadProblem::kNone);
  EXPECT_EQ(json(R"({"a": [1, 2, 3]})", limits), ReadProblem::kLimit);
  EXPECT_EQ(yaml("a: [1, 2, 3]", limits), ReadProblem::kLimit);
  limits.max_string = 3;
  EXPECT_EQ(json(R"(["abc"])", limits), ReadProblem::kNone);
  EXPECT_EQ(json(R"(["abcd"])", limits), ReadProblem::kLimit);
  EXPECT_EQ(json(R"({"abcd": 1})", limits), ReadProblem::kLimit);
  limits.max_bytes = 6;
  EXPECT_EQ(json("[1,2,3]", limits), ReadProblem::kLimit);
}

TEST(ReadLimits, MayLetOneByteOrderMarkPass) {
  ReadLimits limits;
  limits.byte_order_mark = true;
  const auto read = parse_json("\xEF\xBB\xBF\n [1]", "f", limits);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->line, 2u);
  EXPECT_EQ(json("\xEF\xBB\xBF\xEF\xBB\xBF[1]", limits), ReadProblem::kEncoding);
}

}  // namespace
}  // namespace calkit
