#include "calkit/calbin/oplist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "package_builder.h"

namespace calkit::calbin {
namespace {

using testing::HasSubstr;

OpList sample() {
  OpList list = testing_support::good_package().prefill;
  Op op = list.ops[0];
  op.id = 9;
  op.domain = "calkit";
  op.attributes = {{"i", INT64_MIN},
                   {"f", 1.0f},
                   {"e", 1e-6f},
                   {"s", std::string()},
                   {"v", std::vector<std::int64_t>{1, -2}},
                   {"empty", std::vector<std::int64_t>{}}};
  Operand absent;
  absent.absent = true;
  op.reads.push_back(absent);
  list.ops.push_back(op);
  return list;
}

Result<OpList> parse(const Value& document) {
  return parse_oplist(Cursor(document, "oplist.json"));
}

TEST(CalbinOpList, ReadsBackWhatItWrote) {
  const OpList written = sample();
  const auto document = parse_json(to_json(to_value(written)), "oplist.json");
  ASSERT_TRUE(document.ok());
  const auto read = parse(*document);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(*read == written);
}

TEST(CalbinOpList, KeepsAWholeFloatApartFromAnInteger) {
  const auto document = parse_json(to_json(to_value(sample())), "oplist.json");
  const auto read = parse(*document);
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(std::holds_alternative<std::int64_t>(read->ops.back().attributes[0].value));
  EXPECT_TRUE(std::holds_alternative<float>(read->ops.back().attributes[1].value));
}

TEST(CalbinOpList, RefusesWhatItDoesNotKnow) {
  const Value good = to_value(sample());
  const auto broken = [&](auto change) {
    Value document = good;
    change(document, (*document.find("ops")->if_array())[0]);
    const auto read = parse(document);
    return read.ok() ? std::string("accepted") : read.error().message;
  };
  EXPECT_THAT(broken([](Value& d, Value&) { d.set("schema", "calkit.oplist/2"); }), HasSubstr("/schema"));
  EXPECT_THAT(broken([](Value& d, Value&) { d.set("chip", 64); }), HasSubstr("/chip"));
  EXPECT_THAT(broken([](Value&, Value& op) { op.set("kind", "x"); }), HasSubstr("/ops/0/kind"));
  EXPECT_THAT(broken([](Value&, Value& op) { op.set("writes", Value()); }), HasSubstr("/ops/0/writes"));
  EXPECT_THAT(broken([](Value&, Value& op) {
                (*op.find("writes")->if_array())[0].set("shape", Value::list(std::vector<std::string>{"T"}));
              }),
              HasSubstr("/ops/0/writes/0/shape/0"));
  EXPECT_THAT(broken([](Value&, Value& op) { (*op.find("attributes")->if_array())[0].set("float", 1.5); }),
              HasSubstr("/ops/0/attributes/0"));
  EXPECT_THAT(broken([](Value&, Value& op) { (*op.find("writes")->if_array())[0].set("base", 4096); }),
              HasSubstr("base"));
}

}  // namespace
}  // namespace calkit::calbin
