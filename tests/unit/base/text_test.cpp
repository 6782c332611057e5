#include "calkit/base/text.h"

#include <gtest/gtest.h>

#include "calkit/base/checked.h"
#include "calkit/base/value.h"

namespace calkit {
namespace {

TEST(Utf8, IsCheckedToTheLastForm) {
  EXPECT_EQ(invalid_utf8_at(""), std::string_view::npos);
  EXPECT_EQ(invalid_utf8_at("plain ascii, longer than eight bytes"), std::string_view::npos);
  EXPECT_EQ(invalid_utf8_at("\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"),
            std::string_view::npos);
  EXPECT_EQ(invalid_utf8_at("0123456789\x80"), 10u);
  for (const char* bad :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2\x41", "\xE0\x9F\xBF", "\xE2\x82", "\xED\xA0\x80",
        "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFE", "\xFF", "\xF0\x9F\x98"}) {
    EXPECT_EQ(invalid_utf8_at(bad), 0u) << bad;
    EXPECT_EQ(invalid_utf8_at(std::string("12345678abc") + bad), 11u) << bad;
  }
}

TEST(Text, IsSplitAtEverySeparator) {
  EXPECT_EQ(split("a,,b,", ','), (std::vector<std::string>{"a", "", "b", ""}));
  EXPECT_EQ(split("", ','), (std::vector<std::string>{""}));
}

TEST(Text, IsShownWithoutControlCharactersAndCutAtACharacter) {
  EXPECT_EQ(printable("a\nb\x1b[31m"), "a\\x0ab\\x1b[31m");
  EXPECT_EQ(printable("a\xFF\xE2\x82\xAC\x82\xE2\x82"), "a\\xff\xE2\x82\xAC\\x82\\xe2\\x82");
  EXPECT_EQ(printable("\xE2\x82\xAC\xE2\x82\xAC", 4), "\xE2\x82\xAC\xE2\x82\xAC");
  EXPECT_EQ(printable("\xE2\x82\xAC\xE2\x82\xAC", 3), "\xE2\x82\xAC...");
}

TEST(Numbers, AreReadWholeOrNotAtAll) {
  EXPECT_EQ(hex_u64(0x1000), "0x1000");
  EXPECT_EQ(parse_hex_u64("0xFFFFffffFFFFffff"), UINT64_MAX);
  EXPECT_EQ(parse_hex_u64("0x10000000000000000"), std::nullopt);
  for (const char* bad : {"", "0x", "10", "0X10", "0x1g", " 0x1", "0x-1", "-0x1"})
    EXPECT_EQ(parse_hex_u64(bad), std::nullopt) << bad;
  EXPECT_EQ(parse_decimal_u64("18446744073709551615"), UINT64_MAX);
  for (const char* bad : {"", "-1", "+1", "1 ", " 1", "1.0", "18446744073709551616"})
    EXPECT_EQ(parse_decimal_u64(bad), std::nullopt) << bad;
}

TEST(Bytes, AreShownInPowersOf1024) {
  EXPECT_EQ(format_bytes(303872), "303872 B");
  EXPECT_EQ(format_bytes(4026531840), "3.750 GiB");
  EXPECT_EQ(format_bytes(1ull << 20), "1.000 MiB");
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(UINT64_MAX), "16.000 EiB");
}

struct QuantityCase {
  std::string text;
  std::optional<std::uint64_t> bytes;
  std::string problem;
};
class QuantityText : public ::testing::TestWithParam<QuantityCase> {};
TEST_P(QuantityText, IsReadExactlyOrRefusedWithItsReason) {
  const Quantity quantity = parse_quantity(GetParam().text);
  EXPECT_EQ(quantity.bytes, GetParam().bytes) << GetParam().text;
  EXPECT_EQ(quantity.problem, GetParam().problem) << GetParam().text;
}
INSTANTIATE_TEST_SUITE_P(
    Good, QuantityText,
    ::testing::Values(QuantityCase{"16777216 MB", 16777216000000, ""}, QuantityCase{"16384 MiB", 17179869184, ""},
                      QuantityCase{"17179869184 B", 17179869184, ""}, QuantityCase{"16 GiB", 17179869184, ""},
                      QuantityCase{"16 GB", 16000000000, ""}, QuantityCase{"1.5 GiB", 1610612736, ""},
                      QuantityCase{"304 kB", 304000, ""}, QuantityCase{"0 B", 0, ""},
                      QuantityCase{"16GiB", 17179869184, ""}, QuantityCase{"0.5 KiB", 512, ""},
                      QuantityCase{"1.50 kB", 1500, ""}, QuantityCase{"2.0 B", 2, ""},
                      QuantityCase{"1 TB", 1000000000000, ""}, QuantityCase{"1 TiB", 1099511627776, ""},
                      QuantityCase{"0.000000000001 TB", 1, ""}, QuantityCase{"0.0009765625 KiB", 1, ""},
                      QuantityCase{"18446744073709551615 B", UINT64_MAX, ""}));
INSTANTIATE_TEST_SUITE_P(
    Bad, QuantityText,
    ::testing::Values(
        QuantityCase{"17179869184", {}, "no unit"}, QuantityCase{"16 ", {}, "no unit"},
        QuantityCase{"16G", {}, "unknown unit 'G'"}, QuantityCase{"16 gib", {}, "unknown unit 'gib'"},
        QuantityCase{"16 Go", {}, "unknown unit 'Go'"}, QuantityCase{"16 mb", {}, "unknown unit 'mb'"},
        QuantityCase{"16 KB", {}, "unknown unit 'KB'"}, QuantityCase{"16GB RAM", {}, "unknown unit 'GB RAM'"},
        QuantityCase{"16  GiB", {}, "unknown unit ' GiB'"}, QuantityCase{"16\tGiB", {}, "unknown unit '\tGiB'"},
        QuantityCase{"16 GiB ", {}, "unknown unit 'GiB '"}, QuantityCase{"-1 MiB", {}, "not a number"},
        QuantityCase{"+1 MiB", {}, "not a number"}, QuantityCase{"", {}, "not a number"},
        QuantityCase{"GiB", {}, "not a number"}, QuantityCase{" 16 GiB", {}, "not a number"},
        QuantityCase{"0x10 MB", {}, "not a number"}, QuantityCase{"1e3 MB", {}, "not a number"},
        QuantityCase{"1. MB", {}, "not a number"}, QuantityCase{".5 MB", {}, "not a number"},
        QuantityCase{"010 MB", {}, "not a number"}, QuantityCase{"1,5 GiB", {}, "not a number"},
        QuantityCase{"1.2.3 GiB", {}, "not a number"}, QuantityCase{"\xD9\xA1\xD9\xA6 GiB", {}, "not a number"},
        QuantityCase{"\xEF\xBC\x91 GiB", {}, "not a number"}, QuantityCase{"0.1 B", {}, "not a whole number of bytes"},
        QuantityCase{"0.1 KiB", {}, "not a whole number of bytes"},
        QuantityCase{"0.0000000000000000000001 TB", {}, "not a whole number of bytes"},
        QuantityCase{"18446744073709551616 B", {}, "too large"}, QuantityCase{"16777216 TiB", {}, "too large"},
        QuantityCase{"99999999999999999999999999 GB", {}, "too large"}));

TEST(Checked, ArithmeticNeverWraps) {
  EXPECT_EQ(checked_add<std::uint64_t>(UINT64_MAX, 1), std::nullopt);
  EXPECT_EQ(checked_mul<std::uint64_t>(1ull << 32, 1ull << 32), std::nullopt);
  EXPECT_EQ(checked_align_up(UINT64_MAX, 64), std::nullopt);
  EXPECT_EQ(checked_align_up(65, 64), 128u);
  EXPECT_EQ(checked_align_up(1, 3), std::nullopt);
  EXPECT_EQ(checked_align_up(1, 0), std::nullopt);
  const std::vector<std::int64_t> wraps{1ll << 62, 4};
  const std::vector<std::int64_t> negative{2, -1};
  const std::vector<std::int64_t> empty{0, 4};
  EXPECT_EQ(checked_product(wraps), std::nullopt);
  EXPECT_EQ(checked_product(negative), std::nullopt);
  EXPECT_EQ(checked_product(empty, 4), 0u);
  EXPECT_TRUE(range_inside(4096, 0, 4096));
  EXPECT_FALSE(range_inside(1, UINT64_MAX, 4096));
}

TEST(ValueNode, ComparesContentAndIgnoresPlaceAndOrder) {
  Value a = Value::object({{"x", 1}, {"y", Value::array({1.5, "s", nullptr})}});
  Value b = Value::object({{"y", Value::array({1.5, "s", nullptr})}, {"x", 1}});
  b.line = 7;
  EXPECT_EQ(a, b);
  b.set("x", 2);
  EXPECT_NE(a, b);
  EXPECT_NE(Value(1), Value(1.0));
  EXPECT_EQ(Value(std::optional<double>{}), Value());
}

TEST(ValueNode, DescribesItselfForMessages) {
  EXPECT_EQ(Value().describe(), "null");
  EXPECT_EQ(Value(UINT64_MAX).describe(), "18446744073709551615");
  EXPECT_EQ(Value(std::string(100, 'x')).describe(), "\"" + std::string(60, 'x') + "...\"");
  EXPECT_EQ(Value::array({1, 2}).describe(), "an array of 2");
  Value grown;
  grown.push(1);
  EXPECT_EQ(grown.describe(), "an array of 1");
  Value object;
  object.set("k", "v");
  EXPECT_EQ(object.describe(), "an object");
}

}  // namespace
}  // namespace calkit
