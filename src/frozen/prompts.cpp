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

Result<Prompt> parse_prompt(const Cursor& at) {
  CALKIT_CHECK_OK(at.only({"id", "kind", "text", "tokens", "context_limit", "special_tokens", "add_special_tokens"}));
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
  if (!out.recipe) {
    CALKIT_TRY(out.text, at.string("text"));
  }
  out.add_special_tokens = true;  // the peer's own default
  if (const auto flag = at.find("add_special_tokens")) {
    CALKIT_TRY(out.add_special_tokens, flag->as_bool());
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
  return out;
}

}  // namespace calkit::frozen
