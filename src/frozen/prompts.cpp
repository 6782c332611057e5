#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calkit/base/files.h"
#include "calkit/frozen/baseline.h"
#include "calkit/frozen/writer.h"
#include "recipe.h"

namespace calkit::embedded {
extern const std::string_view prompt_suite;
}

namespace calkit::frozen {
namespace {

constexpr std::size_t kMaxId = 64;

// Ids become names of members in archives, so they keep to what is safe everywhere.
bool is_prompt_id(std::string_view id) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  return !id.empty() && id.size() <= kMaxId && id.front() != '.' && std::all_of(id.begin(), id.end(), good);
}

// A chat that ends with the assistant's words is complete; after any other message it is the assistant's turn.
bool awaits_answer(const Cursor& last) {
  const Value* role = last.value().find("role");
  const std::string* name = role == nullptr ? nullptr : role->if_string();
  return name == nullptr || *name != "assistant";
}

Result<std::optional<hf::ChatInput>> read_chat(const Cursor& at) {
  const auto messages = at.find("messages");
  if (!messages) {
    for (const char* key : {"tools", "kwargs", "add_generation_prompt"})
      if (const auto found = at.find(key)) return found->error("a value without messages", "messages beside it");
    return std::optional<hf::ChatInput>();
  }
  hf::ChatInput out;
  CALKIT_TRY(const auto items, messages->items());
  if (items.empty()) return messages->error("no messages", "at least one");
  out.messages = messages->value();
  if (const auto tools = at.find("tools")) {
    CALKIT_TRY(const auto schemas, tools->items());
    out.tools = tools->value();
  }
  if (const auto kwargs = at.find("kwargs")) {
    CALKIT_TRY(const auto members, kwargs->members());
    out.kwargs = kwargs->value();
  }
  out.add_generation_prompt = awaits_answer(items.back());
  if (const auto flag = at.find("add_generation_prompt")) {
    CALKIT_TRY(out.add_generation_prompt, flag->as_bool());
  }
  return std::optional(std::move(out));
}

Result<Prompt> parse_prompt(const Cursor& at) {
  CALKIT_CHECK_OK(at.only({"id", "kind", "text", "tokens", "context_limit", "special_tokens", "add_special_tokens",
                           "messages", "tools", "kwargs", "add_generation_prompt"}));
  Prompt out;
  CALKIT_TRY(const auto id, at.at("id"));
  CALKIT_TRY(out.id, id.as_string());
  if (!is_prompt_id(out.id))
    return id.error(id.value().describe(), fmt::format("1 to {} of A-Z a-z 0-9 - _ . and no leading dot", kMaxId));
  if (const auto kind = at.find("kind")) {
    CALKIT_TRY(out.kind, kind->as_string());
  }
  CALKIT_TRY(out.recipe, read_recipe(at));
  if (out.recipe && at.find("text")) return at.error("a text and a recipe for one", "one of the two");
  CALKIT_TRY(out.chat, read_chat(at));
  if (out.recipe && out.chat) return at.error("messages and a recipe for a text", "one of the two");
  if (!out.recipe && (!out.chat || at.find("text"))) {
    CALKIT_TRY(out.text, at.string("text"));
  }
  out.add_special_tokens = !out.chat;  // the peer's own default for a text; a template adds its own
  if (const auto flag = at.find("add_special_tokens")) {
    CALKIT_TRY(out.add_special_tokens, flag->as_bool());
    if (out.chat && out.add_special_tokens)
      return flag->error("true for a prompt with messages", "false: the template writes the special tokens itself");
  }
  return out;
}

Result<std::vector<Prompt>> parse_prompts(std::string_view text, const std::string& file) {
  CALKIT_TRY(const auto lines, parse_json_lines(text, file));
  std::vector<Prompt> out;
  std::set<std::string> seen;
  for (const Value& line : lines) {
    const Cursor at(line, file);
    CALKIT_TRY(auto prompt, parse_prompt(at));
    if (!seen.insert(prompt.id).second)
      return at.error(fmt::format("the prompt id \"{}\" a second time", prompt.id), "each id once");
    out.push_back(std::move(prompt));
  }
  if (out.empty()) return input_error(file, {}, "no prompts", "at least one line {id, text, add_special_tokens}");
  return out;
}

}  // namespace

Result<std::vector<Prompt>> read_prompts(const std::filesystem::path& jsonl) {
  CALKIT_TRY(const auto text, read_file(jsonl), "reading the prompts");
  return parse_prompts(text, jsonl.string());
}

Result<std::vector<Prompt>> bundled_prompts() {
  return parse_prompts(embedded::prompt_suite, "the bundled prompt suite");
}

Value to_value(const Prompt& prompt) {
  Value out = Value::object({{"id", prompt.id}, {"kind", prompt.kind}});
  if (prompt.recipe)
    add_recipe(*prompt.recipe, out);
  else
    out.set("text", prompt.text);
  out.set("add_special_tokens", prompt.add_special_tokens);
  if (!prompt.chat) return out;
  out.set("messages", prompt.chat->messages);
  out.set("tools", prompt.chat->tools);
  out.set("kwargs", prompt.chat->kwargs);
  out.set("add_generation_prompt", prompt.chat->add_generation_prompt);
  return out;
}

}  // namespace calkit::frozen
