/// manifests/schemas/calbin.schema.json and the reader agree: on every key, and on which keys may be left out.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "calkit/calbin/reading.h"
#include "full_description.h"

namespace calkit::calbin {
namespace {

const Value& resolve(const Value& schema, const Value& node) {
  const Value* ref = node.find("$ref");
  if (ref == nullptr) return node;
  const std::string name = ref->if_string()->substr(std::string("#/definitions/").size());
  return *schema.find("definitions")->find(name);
}

class Walk {
 public:
  Walk(const Value& schema, Value document) : schema_(schema), document_(std::move(document)) {}

  void run() { visit(document_, schema_, ""); }
  std::size_t keys() const { return keys_; }

 private:
  void visit(Value& value, const Value& rule, const std::string& pointer) {
    if (auto* items = value.if_array(); items != nullptr && !items->empty() && rule.find("items") != nullptr)
      return visit(items->front(), resolve(schema_, *rule.find("items")), pointer + "/0");
    const Value* properties = rule.find("properties");
    if (!value.is_object() || properties == nullptr) return;
    const Value* required = rule.find("required");
    ASSERT_NE(required, nullptr) << pointer;
    for (const auto& member : *properties->if_object())
      EXPECT_NE(value.find(member.first), nullptr) << pointer << "/" << member.first << " is in the schema alone";
    const Value::Object before = *value.if_object();
    for (const auto& [key, member] : before) {
      ++keys_;
      const Value* property = properties->find(key);
      ASSERT_NE(property, nullptr) << pointer << "/" << key << " is not in the schema";
      *value.find(key) = Value();
      const auto& list = *required->if_array();
      const bool must =
          std::any_of(list.begin(), list.end(), [&](const Value& name) { return *name.if_string() == key; });
      // A null tool of the provenance needs its reason in notes, which draft 7 cannot say; the two numbers of experts
      // need each other, which `required` cannot.
      static const std::set<std::string> kPaired = {"/provenance/compiler", "/provenance/notes", "/model/experts",
                                                    "/model/experts_per_token"};
      if (!kPaired.contains(pointer + "/" + key)) {
        if (pointer + "/" + key != "/seal") document_.set("seal", seal_of(document_));
        EXPECT_EQ(parse_description(Cursor(document_, "calbin.json")).ok(), !must) << pointer << "/" << key;
      }
      *value.find(key) = member;
      visit(*value.find(key), resolve(schema_, *property), pointer + "/" + key);
    }
  }

  const Value& schema_;
  Value document_;
  std::size_t keys_ = 0;
};

TEST(CalbinSchema, AgreesWithTheReaderOnKeysAndOnWhatMayBeLeftOut) {
  const auto schema = read_json(CALKIT_SOURCE_DIR "/manifests/schemas/calbin.schema.json");
  ASSERT_TRUE(schema.ok());
  Walk walk(*schema, to_value(full_description()));
  walk.run();
  EXPECT_GT(walk.keys(), 170u);
}

TEST(CalbinSchema, TheReaderWantsBothNumbersOfExpertsOrNone) {
  const Value good = to_value(full_description());
  const auto reads = [&](const Value& experts, const Value& per_token) {
    Value document = good;
    document.find("model")->set("experts", experts);
    document.find("model")->set("experts_per_token", per_token);
    document.set("seal", seal_of(document));
    return parse_description(Cursor(document, "calbin.json")).ok();
  };
  EXPECT_TRUE(reads(Value(8), Value(2)));
  EXPECT_TRUE(reads(Value(), Value()));
  EXPECT_FALSE(reads(Value(8), Value()));
  EXPECT_FALSE(reads(Value(), Value(2)));
}

}  // namespace
}  // namespace calkit::calbin
