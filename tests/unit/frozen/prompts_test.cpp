#include <gmock/gmock.h>

#include <map>
#include <set>

#include "baseline_support.h"
#include "calkit/base/document.h"
#include "calkit/hf/chat_template.h"
#include "calkit/hf/tokenizer.h"

namespace calkit::frozen {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string verdict(const ScratchDir& dir, const std::string& content) {
  const auto prompts = read_prompts(dir.write("p.jsonl", content));
  return prompts.ok() ? "accepted" : prompts.error().message;
}

TEST(Prompts, F13OnlyALineFeedEndsARecord) {
  const auto prompts = or_die(read_prompts(data_dir() / "cases/F13/prompts.jsonl"));
  const Value expected = or_die(read_json(data_dir() / "cases/F13/expected.json"));
  ASSERT_EQ(static_cast<std::int64_t>(prompts.size()), *expected.find("records")->if_int());
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_EQ(prompts[i].id, *(*expected.find("ids")->if_array())[i].if_string());
    EXPECT_EQ(prompts[i].text, *(*expected.find("texts")->if_array())[i].if_string());
  }
}

TEST(Prompts, ALineWithoutTheFlagAsksForSpecialTokensAsThePeerDoes) {
  const ScratchDir dir;
  const auto prompts = or_die(read_prompts(dir.write("p.jsonl",
                                                     "{\"id\":\"a\",\"text\":\"x\"}\n{\"id\":\"b\",\"text\":"
                                                     "\"\\\\n\\n\",\"kind\":\"k\",\"add_special_tokens\":false}\n")));
  EXPECT_TRUE(prompts[0].add_special_tokens);
  EXPECT_FALSE(prompts[1].add_special_tokens);
  EXPECT_EQ(prompts[1].text, "\\n\n");
  EXPECT_EQ(prompts[1].kind, "k");
}

TEST(Prompts, FaultsNameTheLineAndTheField) {
  const ScratchDir dir;
  EXPECT_THAT(verdict(dir, ""), HasSubstr("no prompts"));
  EXPECT_THAT(verdict(dir, "{\"id\":\"a\"}\n"), AllOf(HasSubstr("p.jsonl:1"), HasSubstr("text")));
  EXPECT_THAT(verdict(dir, "{\"id\":\"a\",\"text\":\"\"}\n{\"id\":\"a\",\"text\":\"\"}\n"),
              AllOf(HasSubstr(":2"), HasSubstr("second time")));
  EXPECT_THAT(verdict(dir, "{\"id\":\"../a\",\"text\":\"\"}\n"), HasSubstr("/id"));
  EXPECT_THAT(verdict(dir, "{\"id\":\"\",\"text\":\"\"}\n"), HasSubstr("/id"));
  EXPECT_THAT(verdict(dir, "{\"id\":\"a\",\"text\":3}\n"), HasSubstr("/text"));
  EXPECT_THAT(verdict(dir, "{\"id\":\"a\",\"txt\":\"\"}\n"), HasSubstr("txt"));
  EXPECT_THAT(verdict(dir, "{\"id\":\"a\",\"text\":\"\"\n"), HasSubstr(":1"));
}

TEST(Prompts, TheBundledSuiteIsLargeVariedAndShort) {
  const auto prompts = or_die(bundled_prompts());
  EXPECT_GE(prompts.size(), 120u);
  const auto tokenizer = or_die(hf::Tokenizer::load(tiny_model() / "tokenizer.json"));
  std::set<std::string> kinds;
  std::map<std::string, int> lengths;
  int recipes = 0;
  for (const Prompt& prompt : prompts) {
    kinds.insert(prompt.kind);
    if (prompt.recipe) {
      ++recipes;
      continue;
    }
    const auto ids = or_die(tokenizer.encode(prompt.text, prompt.add_special_tokens));
    EXPECT_LE(ids.size(), 620u) << prompt.id;
    ++lengths[length_bucket(ids.size())];
  }
  EXPECT_EQ(recipes, 17);
  EXPECT_GE(kinds.size(), 60u);
  for (const char* kind :
       {"english", "chinese", "arabic", "hindi", "code_python", "emoji_zwj", "combining", "special_text", "empty"})
    EXPECT_TRUE(kinds.contains(kind)) << kind;
  for (const char* bucket : {"0", "1", "2-14", "15", "16", "17", "18-254", "255", "256", "257", "258-4094"})
    EXPECT_GE(lengths[bucket], 1) << bucket;
}

TEST(Prompts, ARecipeStandsInThePlaceOfAText) {
  const ScratchDir dir;
  const auto prompts = or_die(read_prompts(
      dir.write("p.jsonl",
                "{\"id\":\"a\",\"tokens\":255}\n{\"id\":\"b\",\"context_limit\":-1,\"add_special_tokens\":false}\n"
                "{\"id\":\"c\",\"special_tokens\":\"quoted\"}\n")));
  EXPECT_EQ(prompts[0].recipe->tokens, 255);
  EXPECT_TRUE(prompts[0].add_special_tokens);
  EXPECT_EQ(prompts[1].recipe->context_limit, -1);
  EXPECT_EQ(prompts[2].recipe->special_tokens, "quoted");
  EXPECT_THAT(verdict(dir, "{\"id\":\"a\",\"tokens\":255,\"text\":\"x\"}\n"), HasSubstr("a text and a recipe"));
  EXPECT_THAT(verdict(dir, "{\"id\":\"a\",\"tokens\":255,\"context_limit\":0}\n"), HasSubstr("more than one of"));
  EXPECT_THAT(verdict(dir, "{\"id\":\"a\",\"tokens\":0}\n"), HasSubstr("/tokens"));
  EXPECT_THAT(verdict(dir, "{\"id\":\"a\",\"context_limit\":2}\n"), HasSubstr("/context_limit"));
  EXPECT_THAT(verdict(dir, "{\"id\":\"a\",\"special_tokens\":\"all\"}\n"), HasSubstr("/special_tokens"));
}

TEST(Prompts, F01AsItStandsGivesTheIdsOfThePeer) {
  const auto prompts = or_die(read_prompts(data_dir() / "cases/F01/prompts.jsonl"));
  const auto chat_template = or_die(hf::ChatTemplate::find(data_dir() / "cases/F01"));
  const auto tokenizer = or_die(hf::Tokenizer::load(data_dir() / "cases/F01/tokenizer.json"));
  const Value expected = or_die(read_json(data_dir() / "cases/F01/expected.json"));
  for (const Prompt& prompt : prompts) {
    const std::string text = prompt.chat ? or_die(chat_template->render(*prompt.chat, std::nullopt)).text : prompt.text;
    EXPECT_EQ(Value::list(or_die(tokenizer.encode(text, prompt.add_special_tokens))),
              *expected.find("token_ids")->find(prompt.id))
        << prompt.id;
  }
  EXPECT_EQ(prompts.size(), 3u);
}

TEST(Prompts, AChatAwaitsAnAnswerUnlessTheAssistantSpokeLast) {
  const ScratchDir dir;
  const std::string user = R"({"role":"user","content":"a"})", assistant = R"({"role":"assistant","content":"b"})";
  const auto flag = [&](const std::string& messages, const std::string& more = "") {
    const auto prompts =
        or_die(read_prompts(dir.write("p.jsonl", R"({"id":"a","messages":[)" + messages + "]" + more + "}\n")));
    return prompts.front().chat->add_generation_prompt;
  };
  EXPECT_TRUE(flag(user));
  EXPECT_FALSE(flag(user + "," + assistant));
  EXPECT_TRUE(flag(user + "," + assistant + "," + user));
  EXPECT_TRUE(flag(R"({"content":"no role"})"));
  EXPECT_FALSE(flag(user, R"(,"add_generation_prompt":false)"));
  EXPECT_TRUE(flag(assistant, R"(,"add_generation_prompt":true)"));
}

}  // namespace
}  // namespace calkit::frozen
