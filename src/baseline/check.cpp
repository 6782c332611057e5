#include "check.h"

#include <fmt/format.h>

#include <set>

namespace calkit::baseline {

Status check_prompts(const std::vector<frozen::Prompt>& prompts) {
  if (prompts.empty())
    return Error{ErrorKind::kInput, "prompts: found none; allowed: at least 1",
                 "give --prompts FILE, or leave it out for the suite"};
  std::set<std::string_view> ids;
  for (const auto& prompt : prompts)
    if (!ids.insert(prompt.id).second)
      return input_error("prompts", "/id", fmt::format("'{}' twice", prompt.id), "each id once",
                         "ids name the answers in the reference; rename one of the prompts");
  return {};
}

Status check_tokenizer(const hf::Tokenizer& tokenizer, const hf::ModelSpec& spec, const std::string& config_file) {
  if (tokenizer.max_id() < spec.vocab) return {};
  return input_error(
      config_file, "/vocab_size", fmt::format("{}", spec.vocab),
      fmt::format("at least {}: tokenizer.json has ids up to {}", tokenizer.max_id() + 1, tokenizer.max_id()),
      "the tokenizer belongs to another model, or the embedding lacks rows");
}

}  // namespace calkit::baseline
