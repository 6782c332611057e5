#include "calkit/manifest/support_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "calkit/base/document.h"
#include "scratch_dir.h"

namespace calkit::manifest {
namespace {

using testing::HasSubstr;
using testing_support::ScratchDir;

VersionRange range(const char* text) {
  auto parsed = VersionRange::parse(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? std::move(parsed).value() : VersionRange();
}
bool holds(const char* text, const char* version) {
  return range(text).contains(*Version::parse(version));
}

TEST(VersionRange, ComparesNumbersAndNotText) {
  EXPECT_TRUE(holds(">=0.7.6 <0.8", "0.7.6"));
  EXPECT_TRUE(holds(">=0.7.6 <0.8", "0.7.60"));
  EXPECT_FALSE(holds(">=0.7.6 <0.8", "0.7.5"));
  EXPECT_FALSE(holds(">=0.7.6 <0.8", "0.8.0"));
  EXPECT_TRUE(holds(">0.9", "0.10"));
  EXPECT_FALSE(holds(">0.7.6", "0.7.6"));
  EXPECT_TRUE(holds("<=0.8", "0.8.0"));
  EXPECT_TRUE(holds("0.8", "0.8.0"));
  EXPECT_FALSE(holds("0.7.6", "0.7.60"));
  EXPECT_TRUE(holds("any", "0"));
}

TEST(VersionRange, KnowsWhenTwoHaveAVersionInCommon) {
  EXPECT_TRUE(range("any").meets(range("1.2")));
  EXPECT_TRUE(range(">=1 <2").meets(range("<=1")));
  EXPECT_FALSE(range(">1").meets(range("<=1")));
  EXPECT_FALSE(range("1.2").meets(range("1.3")));
  EXPECT_TRUE(range(">=1.2 <1.4").meets(range(">1.3")));
}

TEST(VersionRange, RefusesWhatNamesNoVersion) {
  for (const char* text : {"", "latest", "0.7.x", "v0.7", "0.07", ">=", ">=1 >=2", "1 2", "=1", "<0.7 >0.8", ">1 <1",
                           "0.7.6 ", " 0.7.6", ">= 1", "1..2", "-1", "1,2", "99999999999999999999"})
    EXPECT_FALSE(VersionRange::parse(text).ok()) << text;
}

TEST(SupportMatrix, TheBuiltInOneKnowsTheEmulatedRuntime) {
  const auto matrix = default_support_matrix();
  ASSERT_TRUE(matrix.ok()) << matrix.error().message;
  const auto* row = matrix->find(*Version::parse("0.7.6"), {"0.7.6", "any", "any", "emulated"});
  ASSERT_NE(row, nullptr);
  EXPECT_TRUE(row->supported);
  row = matrix->find(*Version::parse("0.8.0"), {"0.8.0", "any", "any", "emulated"});
  ASSERT_NE(row, nullptr);
  EXPECT_FALSE(row->supported);
  EXPECT_EQ(matrix->find(*Version::parse("0.7.6"), {"0.7.6", "any", "any", "board"}), nullptr);
}

TEST(SupportMatrix, TheFirstRowThatFitsDecides) {
  const SupportMatrix matrix{
      "test",
      {{{"any", "<2", "any", "board"}, false, "old drivers hang"}, {{"any", "any", "any", "board"}, true, "tried"}}};
  const auto decide = [&](const char* driver) {
    return matrix.find(*Version::parse("0.7.6"), {"0.7.6", driver, "any", "board"})->supported;
  };
  EXPECT_FALSE(decide("1.9"));
  EXPECT_FALSE(decide("any"));
  EXPECT_TRUE(decide("2"));
}

Result<SupportMatrix> read_text(const std::string& text) {
  ScratchDir dir;
  std::ofstream(dir / "m.yaml") << text;
  return read_support_matrix(dir / "m.yaml");
}
std::string row(const std::string& field, const std::string& value) {
  std::string out = "schema: calkit.support/1\nrows:\n  - ";
  for (const auto& [key, usual] : std::vector<std::pair<std::string, std::string>>{{"runtime_abi", "any"},
                                                                                   {"driver", "any"},
                                                                                   {"firmware", "any"},
                                                                                   {"device", "board"},
                                                                                   {"supported", "true"},
                                                                                   {"reason", "tried"}})
    out += key + ": " + (key == field ? value : usual) + "\n    ";
  return out;
}

TEST(SupportMatrix, ReadsRowsAndRefusesWhatIsNoRow) {
  EXPECT_TRUE(read_text(row("", "")).ok());
  EXPECT_FALSE(read_text("schema: calkit.support/1\nrows: []\n").ok());
  EXPECT_FALSE(read_text("schema: calkit.support/2\nrows: []\n").ok());
  for (const auto& [field, value] : std::vector<std::pair<const char*, const char*>>{{"runtime_abi", "latest"},
                                                                                     {"driver", "1.x"},
                                                                                     {"device", "\"\""},
                                                                                     {"reason", "\"\""},
                                                                                     {"supported", "maybe"}})
    EXPECT_FALSE(read_text(row(field, value)).ok()) << field;
  const auto unknown = read_text(row("reason", "tried\n    reasons: again"));
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().message, HasSubstr("reason"));
}

TEST(SupportMatrix, ItsSchemaNamesTheSameKeys) {
  const auto schema = read_json(CALKIT_SOURCE_DIR "/manifests/schemas/support.schema.json");
  ASSERT_TRUE(schema.ok());
  const Value* row_schema = schema->find("properties")->find("rows")->find("items");
  std::vector<std::string> keys;
  for (const auto& [key, value] : *row_schema->find("properties")->if_object()) keys.push_back(key);
  EXPECT_THAT(keys,
              testing::UnorderedElementsAre("runtime_abi", "driver", "firmware", "device", "supported", "reason"));
  EXPECT_EQ(row_schema->find("required")->if_array()->size(), keys.size());
}

}  // namespace
}  // namespace calkit::manifest
