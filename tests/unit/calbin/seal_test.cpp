#include "calbin/seal.h"

#include <gtest/gtest.h>

#include <bit>

#include "calkit/base/document.h"
#include "calkit/base/hash.h"
#include "calkit/calbin/reading.h"

namespace calkit::calbin {
namespace {

std::string canonical(std::string_view text) {
  const auto document = parse_json(text, "x");
  return document.ok() ? canonical_json(*document) : document.error().message;
}

TEST(CalbinSeal, IsOverTheCanonicalTextWithoutTheSealItself) {
  const auto document = parse_json(R"({"b": [1, 2.0, 1e-6], "seal": "x", "a": {"seal": null, "y": true}})", "x");
  ASSERT_TRUE(document.ok());
  EXPECT_EQ(seal_of(*document), "sha256:" + sha256_hex(R"({"a":{"seal":null,"y":true},"b":[1,2,0.000001]})"));
}

TEST(CalbinSeal, PrintsNumbersAsTheSamplesOfRfc8785) {
  const std::pair<std::uint64_t, const char*> samples[] = {
      {0x0000000000000000, "0"},
      {0x8000000000000000, "0"},
      {0x0000000000000001, "5e-324"},
      {0x8000000000000001, "-5e-324"},
      {0x7fefffffffffffff, "1.7976931348623157e+308"},
      {0xffefffffffffffff, "-1.7976931348623157e+308"},
      {0x4340000000000000, "9007199254740992"},
      {0xc340000000000000, "-9007199254740992"},
      {0x4430000000000000, "295147905179352830000"},
      {0x44b52d02c7e14af5, "9.999999999999997e+22"},
      {0x44b52d02c7e14af6, "1e+23"},
      {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
      {0x444b1ae4d6e2ef4e, "999999999999999700000"},
      {0x444b1ae4d6e2ef4f, "999999999999999900000"},
      {0x444b1ae4d6e2ef50, "1e+21"},
      {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
      {0x3eb0c6f7a0b5ed8d, "0.000001"},
      {0x41b3de4355555553, "333333333.3333332"},
      {0x41b3de4355555554, "333333333.33333325"},
      {0x41b3de4355555555, "333333333.3333333"},
      {0x41b3de4355555556, "333333333.3333334"},
      {0x41b3de4355555557, "333333333.33333343"},
      {0xbecbf647612f3696, "-0.0000033333333333333333"},
      {0x43143ff3c1cb0959, "1424953923781206.2"},
  };
  for (const auto& [bits, text] : samples) EXPECT_EQ(canonical_json(Value(std::bit_cast<double>(bits))), text);
  EXPECT_EQ(canonical("[18446744073709551615, -9223372036854775808]"), "[18446744073709551615,-9223372036854775808]");
}

TEST(CalbinSeal, SortsKeysByUtf16AndEscapesOnlyWhatItMust) {
  EXPECT_EQ(canonical(R"({"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7})"),
            "{\"\\r\":2,\"1\":4,\"\xC2\x80\":6,\"\xC3\xB6\":7,\"\xE2\x82\xAC\":1,\"\xF0\x9F\x98\x80\":5,"
            "\"\xEF\xAC\xB3\":3}");
  EXPECT_EQ(canonical(R"("\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/")"),
            "\"\xE2\x82\xAC$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"");
}

}  // namespace
}  // namespace calkit::calbin
