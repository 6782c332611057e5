#include "calkit/jinja/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calkit/base/document.h"
#include "calkit/base/files.h"

namespace calkit::jinja {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string shown(const std::string& text, const Value& context = Value(Value::Object{}),
                  const RenderOptions& options = {}) {
  const auto parsed = Template::parse(text, "t.jinja");
  if (!parsed.ok()) return "refused: " + parsed.error().message;
  const auto made = parsed->render(context, options);
  return made.ok() ? made->text : "error: " + made.error().message;
}

std::string data(const std::string& path) {
  return read_file(std::filesystem::path(CALKIT_TEST_DATA) / path).value();
}

TEST(JinjaTemplate, SlicesNamespacesAndStringMethodsGiveTheKnownTexts) {
  const std::string text = data("cases/F14/chat_template.jinja");
  const auto cases = parse_json(data("cases/F14/expected.json"), "F14");
  ASSERT_TRUE(cases.ok());
  for (const Value& one : *cases->if_array())
    EXPECT_EQ(shown(text, Value::object({{"messages", *one.find("messages")}})), *one.find("rendered")->if_string());
}

TEST(JinjaTemplate, TheClockIsPinnedAbsentOrNotNeededAndSaysWhetherItWasRead) {
  const auto parsed = Template::parse(data("cases/F15/chat_template.jinja"), "t.jinja");
  ASSERT_TRUE(parsed.ok());
  EXPECT_TRUE(parsed->mentions_clock());
  const auto expected = parse_json(data("cases/F15/expected.json"), "F15");
  ASSERT_TRUE(expected.ok());
  Value context = Value::object({{"messages", *expected->find("messages")}});
  const RenderOptions pinned{.clock = 1741478400, .limits = {}};  // 2025-03-09
  const auto read = parsed->render(context, pinned);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->text, *expected->find("clock_pinned_to_2025_03_09")->if_string());
  EXPECT_TRUE(read->clock_read);
  EXPECT_EQ(parsed->render(context)->text, *expected->find("without_clock")->if_string());
  context.set("date_string", "01 Jan 2025");
  const auto given = parsed->render(context, pinned);
  EXPECT_EQ(given->text, *expected->find("given_date_string")->if_string());
  EXPECT_FALSE(given->clock_read);
}

// The texts are Jinja2's. A fuzz run had found both as signed overflows.
TEST(JinjaTemplate, RemaindersAndSlicesOfRangesHoldAtTheEndsOf64Bits) {
  EXPECT_EQ(shown("{{ -9223372036854775807 % 9223372036854775806 }}"), "9223372036854775805");
  EXPECT_EQ(shown("{{ 1 % -9223372036854775807 }} {{ -1 % 9223372036854775807 }}"),
            "-9223372036854775806 9223372036854775806");
  EXPECT_EQ(shown("{{ range(9223372036854775806, 9223372036854775807)[1:]|list }} {{ range(0, 10, 3)[1:3]|list }}"),
            "[] [3, 6]");
  EXPECT_EQ(shown("{{ range(3)[::-9223372036854775807]|list }}"), "[2]");
}

TEST(JinjaTemplate, ErrorsNameFileLineAndFeature) {
  EXPECT_EQ(shown("a\n{% include 'x' %}"), "refused: t.jinja:2: the tag 'include'; not supported in chat templates");
  EXPECT_EQ(shown("\n\n{{ 'a'|urlize }}"), "refused: t.jinja:3: the filter 'urlize'; not supported");
  EXPECT_EQ(shown("{% if true %}\n{{ 'a'|urlize }}{% endif %}"),
            "error: t.jinja:2: the filter 'urlize'; not supported");
  EXPECT_EQ(shown("{{ 'a'|nope }}"), "refused: t.jinja:1: no filter named 'nope'");
  EXPECT_EQ(shown("{{ x.y }}"), "error: t.jinja:1: 'x' is undefined");
  EXPECT_EQ(shown("{{ [1].append(2) }}"), "error: t.jinja:1: access to attribute 'append' of 'list' object is unsafe");
  EXPECT_EQ(shown("{{ 'a'.encode() }}"), "error: t.jinja:1: the method 'encode'; not supported");
  EXPECT_EQ(shown("x\n{{ raise_exception('no ' ~ 5) }}"), "error: t.jinja:2: the template says: no 5");
  EXPECT_EQ(shown("{{ 9223372036854775807 + 1 }}"), "error: t.jinja:1: an integer beyond 64 bits; not supported");
  EXPECT_EQ(shown("{% if x %}"), "refused: t.jinja:1: the template ends where 'endif' was expected");
}

TEST(JinjaTemplate, AHostileTemplateEndsAtALimitThatItNames) {
  RenderOptions options;
  options.limits = {.steps = 100'000, .value_bytes = 1 << 20, .output_bytes = 1 << 16, .depth = 300};
  const auto stopped = [&](const std::string& text) { return shown(text, Value(Value::Object{}), options); };
  EXPECT_THAT(stopped("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"),
              HasSubstr("100000 steps"));
  EXPECT_THAT(
      stopped("{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}"),
      HasSubstr("limit of the renderer"));
  EXPECT_THAT(stopped("{{ 'a' * 10 ** 15 }}"), HasSubstr("limit of the renderer"));
  EXPECT_THAT(stopped("{{ [1] * 10 ** 9 }}"), HasSubstr("limit of the renderer"));
  EXPECT_THAT(stopped("{{ 'a'.center(10 ** 12) }}"), HasSubstr("limit of the renderer"));
  EXPECT_THAT(stopped("{{ '%999999999d' % 1 }}"), HasSubstr("limit of the renderer"));
  EXPECT_THAT(stopped("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"), HasSubstr("300 levels"));
  EXPECT_THAT(stopped("{% set ns = namespace(s=[]) %}{% for i in range(999) %}{% set ns.s = [ns.s] %}{% endfor %}"),
              HasSubstr("levels deep"));
  EXPECT_THAT(
      stopped("{% set ns = namespace(s=[]) %}{% for i in range(999) %}{% set ns.s = ns.s|map('upper') %}{% endfor %}"),
      HasSubstr("levels deep"));
  EXPECT_THAT(stopped("{% for i in range(99999) %}" + std::string(40, 'x') + "{% endfor %}"), HasSubstr("65536 bytes"));
  EXPECT_THAT(stopped("{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}"), HasSubstr("levels deep"));
  EXPECT_THAT(stopped("{% set a = [1] %}" +
                      [] {
                        std::string text;
                        for (int i = 0; i < 60; ++i) text += "{% set a = [a, a] %}";
                        return text;
                      }() +
                      "{{ a == a + [] }}{{ a|tojson }}"),
              HasSubstr("limit of the renderer"));
}

TEST(JinjaTemplate, ADeepTextIsRefusedByTheParser) {
  for (const auto& [open, close] :
       {std::pair("(", ")"), std::pair("[", "]"), std::pair("not ", ""), std::pair("-", "")}) {
    std::string text = "{{ ";
    for (int i = 0; i < 5000; ++i) text += open;
    text += "1";
    for (int i = 0; i < 5000; ++i) text += close;
    EXPECT_THAT(shown(text + " }}"), HasSubstr("levels deep"));
  }
  std::string sum = "{{ 1", chain = "{{ x", ifs;
  for (int i = 0; i < 5000; ++i) sum += " + 1", chain += ".a", ifs += "{% if x %}";
  EXPECT_THAT(shown(sum + " }}"), HasSubstr("levels deep"));
  EXPECT_THAT(shown(chain + " }}"), HasSubstr("levels deep"));
  EXPECT_THAT(shown(ifs), HasSubstr("levels deep"));
}

TEST(JinjaTemplate, BytesThatAreNoTextAreRefused) {
  EXPECT_THAT(shown("a\xff"), HasSubstr("no UTF-8"));
  EXPECT_THAT(shown("{{ '\\ud800' }}"), HasSubstr("surrogate"));
  EXPECT_EQ(shown(""), "");
}

TEST(JinjaTemplate, ObjectsKeepTheirOrder) {
  const auto context = parse_json(R"({"d": {"z": 1, "a": {"y": 2.0, "b": null}}})", "c");
  EXPECT_EQ(shown("{{ d|tojson }} {{ d }}", *context),
            R"({"z": 1, "a": {"y": 2.0, "b": null}} {'z': 1, 'a': {'y': 2.0, 'b': None}})");
}

TEST(JinjaTemplate, UnpairedLoopsAndMacrosThatEscapeAreHarmless) {
  EXPECT_EQ(shown("{% set ns = namespace() %}{% for i in [1, 2] %}{% set ns.l = loop %}{% endfor %}{{ ns.l.index }}"),
            "2");
  EXPECT_THAT(shown("{% set ns = namespace() %}{% for i in [1, 2] %}{% set ns.l = loop %}{% endfor %}{{ ns.l.last }}"),
              HasSubstr("has ended"));
  EXPECT_EQ(shown("{% set ns = namespace() %}{% for i in [1, 2] %}{% macro m() %}[{{ i }}]{% endmacro %}{% set ns.m = "
                  "m %}{% endfor %}{{ ns.m() }}"),
            "[]");
}

}  // namespace
}  // namespace calkit::jinja
