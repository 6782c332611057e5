#include "check.h"

#include <fmt/format.h>

#include <set>

namespace calkit::baseline {

namespace fs = std::filesystem;

Status check_target(const fs::path& out) {
  std::error_code ignored;
  if (!fs::is_directory(out, ignored) || fs::is_empty(out, ignored)) return {};
  if (fs::exists(out / "SHA256SUMS", ignored) && fs::exists(out / "reference", ignored)) return {};
  return input_error(out.string(), "--out", "a folder with other files in it", "a new folder or an earlier baseline",
                     "choose another folder or empty this one");
}

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
