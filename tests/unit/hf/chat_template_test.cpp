#include "calkit/hf/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "calkit/base/document.h"
#include "calkit/base/files.h"
#include "calkit/hf/tokenizer.h"
#include "scratch_dir.h"

namespace calkit::hf {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const fs::path kChats = fs::path(CALKIT_TEST_DATA) / "chat";

ChatInput input_of(const Value& line) {
  ChatInput out;
  out.messages = *line.find("messages");
  out.tools = *line.find("tools");
  out.kwargs = *line.find("kwargs");
  out.add_generation_prompt = *line.find("add_generation_prompt")->if_bool();
  return out;
}

// Every chat of every golden model: the text of Transformers, or its refusal.
TEST(ChatTemplate, EveryGoldenChatIsRenderedAsThePeerRenderedIt) {
  std::size_t models = 0, texts = 0, refusals = 0, with_ids = 0;
  for (const auto& entry : fs::directory_iterator(kChats)) {
    const auto found = ChatTemplate::find(entry.path());
    ASSERT_TRUE(found.ok()) << found.error().message;
    ASSERT_TRUE(found->has_value());
    const auto lines = read_json_lines(entry.path() / "chat.jsonl");
    ASSERT_TRUE(lines.ok());
    ++models;
    const fs::path tokenizer_file = fs::path(CALKIT_TEST_DATA) / "models" / entry.path().filename() / "tokenizer.json";
    const auto tokenizer = Tokenizer::load(tokenizer_file);  // three of the models are here whole
    with_ids += tokenizer.ok();
    for (const Value& line : *lines) {
      const auto made = (*found)->render(input_of(line), std::nullopt);
      const std::string* rendered = line.find("rendered")->if_string();
      if (rendered == nullptr) {
        ++refusals;
        ASSERT_FALSE(made.ok());
        std::string told = *line.find("error")->if_string();
        EXPECT_THAT(made.error().message, HasSubstr(told.substr(told.find(": ") + 2)));
        continue;
      }
      ++texts;
      ASSERT_TRUE(made.ok()) << made.error().message;
      EXPECT_EQ(made->text, *rendered) << entry.path() << " " << *line.find("id")->if_string();
      EXPECT_FALSE(made->clock_read);
      if (tokenizer.ok()) {
        EXPECT_EQ(Value::list(tokenizer->encode(made->text, false).value()), *line.find("ids"));
      }
    }
  }
  EXPECT_EQ(with_ids, 10u);
  EXPECT_EQ(models, 10u);
  EXPECT_EQ(texts, 264u);
  EXPECT_EQ(refusals, 4u);
}

struct Folder {
  testing_support::ScratchDir dir;
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((dir.path() / name).parent_path());
    std::ofstream(dir.path() / name, std::ios::binary) << text;
  }
  std::string shown(const ChatInput& input, std::optional<std::int64_t> clock = std::nullopt) const {
    const auto found = ChatTemplate::find(dir.path());
    if (!found.ok()) return "refused: " + found.error().message;
    if (!found->has_value()) return "none";
    const auto made = (*found)->render(input, clock);
    return made.ok() ? made->text : "error: " + made.error().message;
  }
};

ChatInput hello(const char* messages = R"([{"role": "user", "content": "hi"}])") {
  ChatInput out;
  out.messages = *parse_json(messages, "m");
  return out;
}

TEST(ChatTemplate, TheFileComesBeforeTheConfigAndNoneIsNone) {
  Folder folder;
  EXPECT_EQ(folder.shown(hello()), "none");
  folder.write("tokenizer_config.json",
               R"({"chat_template": "config {{ bos_token }}", "bos_token": {"content": "<s>"}})");
  EXPECT_EQ(folder.shown(hello()), "config <s>");
  folder.write("chat_template.jinja", "file {{ messages[0].content }}\n");
  EXPECT_EQ(folder.shown(hello()), "file hi");
}

TEST(ChatTemplate, OfNamedTemplatesToolsTakeTheirOwn) {
  Folder folder;
  folder.write("tokenizer_config.json",
               R"({"chat_template": [{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"},
                                            {"name": "rag", "template": "{% nope %}"}]})");
  EXPECT_EQ(folder.shown(hello()), "d");
  ChatInput with_tools = hello();
  with_tools.tools = Value::array({Value::object({{"name", "f"}})});
  EXPECT_EQ(folder.shown(with_tools), "t");
  folder.write("tokenizer_config.json", R"({"chat_template": [{"name": "rag", "template": "d"}]})");
  EXPECT_THAT(folder.shown(hello()), HasSubstr("\"default\""));
}

// As Transformers reads a folder that it saved with several templates.
TEST(ChatTemplate, NamedTemplatesMayBeFilesOfTheirOwn) {
  Folder folder;
  ChatInput with_tools = hello();
  with_tools.tools = Value::array({Value::object({{"name", "f"}})});
  folder.write("tokenizer_config.json", R"({"chat_template": "config"})");
  folder.write("additional_chat_templates/rag.jinja", "{% nope %}");
  EXPECT_THAT(folder.shown(hello()), HasSubstr("\"default\""));  // the files count, and none is the default
  folder.write("chat_template.jinja", "file");
  EXPECT_EQ(folder.shown(hello()), "file");
  EXPECT_EQ(folder.shown(with_tools), "file");
  folder.write("additional_chat_templates/tool_use.jinja", "tools");
  EXPECT_EQ(folder.shown(hello()), "file");
  EXPECT_EQ(folder.shown(with_tools), "tools");
  folder.write("additional_chat_templates/default.jinja", "again");
  EXPECT_THAT(folder.shown(hello()), HasSubstr("a second template named 'default'"));
}

TEST(ChatTemplate, ATemplateThatPrintsBosIsEncodedWithOneBos) {
  const fs::path dir = fs::path(CALKIT_TEST_DATA) / "cases/F01";
  const auto expected = read_json(dir / "expected.json");
  const auto found = ChatTemplate::find(dir);
  ASSERT_TRUE(expected.ok() && found.ok() && found->has_value());
  ChatInput input = hello(R"([{"role": "user", "content": "hello there"}])");
  input.add_generation_prompt = true;
  const auto text = (*found)->render(input, std::nullopt);
  ASSERT_TRUE(text.ok()) << text.error().message;
  const auto tokenizer = Tokenizer::load(dir / "tokenizer.json");
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(Value::list(tokenizer->encode(text->text, false).value()), *expected->find("token_ids")->find("chat"));
}

TEST(ChatTemplate, NullMembersAreDroppedAndReasoningHasBothNames) {
  Folder folder;
  folder.write("chat_template.jinja", "{{ messages|tojson }}");
  EXPECT_EQ(folder.shown(hello(R"([{"role": "a", "content": null, "reasoning": "r"}])")),
            R"([{"thinking": "r", "role": "a", "reasoning": "r", "reasoning_content": "r"}])");
}

TEST(ChatTemplate, AClockThatIsReadMustBePinned) {
  Folder folder;
  folder.write("chat_template.jinja", "{% if tools %}{{ strftime_now('%d %b %Y') }}{% else %}no clock{% endif %}");
  EXPECT_EQ(folder.shown(hello()), "no clock");
  ChatInput with_tools = hello();
  with_tools.tools = Value::array({Value::object({{"name", "f"}})});
  EXPECT_THAT(folder.shown(with_tools), HasSubstr("reads the clock"));
  EXPECT_EQ(folder.shown(with_tools, 1741478400), "09 Mar 2025");
}

TEST(ChatTemplate, InputsOfTheWrongKindAreNamed) {
  Folder folder;
  folder.write("chat_template.jinja", "x");
  EXPECT_THAT(folder.shown(hello("[]")), HasSubstr("/messages"));
  EXPECT_THAT(folder.shown(hello("[1]")), HasSubstr("/messages/0"));
  ChatInput input = hello();
  input.kwargs = Value::object({{"tools", 1}});
  EXPECT_THAT(folder.shown(input), HasSubstr("/kwargs/tools"));
  folder.write("chat_template.jinja", "a\n{% block x %}{% endblock %}");
  EXPECT_THAT(folder.shown(hello()), HasSubstr("chat_template.jinja:2: the tag 'block'"));
}

}  // namespace
}  // namespace calkit::hf
