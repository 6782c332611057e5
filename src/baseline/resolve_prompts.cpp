#include "resolve_prompts.h"

#include <fmt/format.h>

#include "calkit/base/process.h"
#include "length_text.h"

namespace calkit::baseline {
namespace {

class Resolver {
 public:
  Resolver(const hf::Tokenizer& tokenizer, const PromptLimits& limits) : tokenizer_(tokenizer), limits_(limits) {}

  Status add(const frozen::Prompt& prompt) {
    if (!prompt.recipe) return text(prompt, prompt.text);
    const frozen::Recipe& recipe = *prompt.recipe;
    if (!recipe.special_tokens.empty()) {
      const auto built = text_of_special_tokens(tokenizer_, recipe.special_tokens);
      if (built) return text(prompt, *built);
      refuse(prompt, std::nullopt, "the tokenizer has no special tokens");
      return {};
    }
    return length(prompt, recipe.tokens ? *recipe.tokens : limits_.positions + *recipe.context_limit);
  }

  frozen::Reference take() { return std::move(out_); }

 private:
  void refuse(const frozen::Prompt& prompt, std::optional<std::int64_t> tokens, std::string reason) {
    out_.refused.push_back({prompt.id, prompt.kind, tokens, std::move(reason)});
  }

  // True if a prompt of so many tokens is to be answered.
  bool fits(const frozen::Prompt& prompt, std::int64_t tokens) {
    if (tokens + limits_.greedy_steps > limits_.positions) {
      refuse(prompt, tokens,
             fmt::format("{} tokens and {} greedy steps; allowed: {} positions (config.json /max_position_embeddings)",
                         tokens, limits_.greedy_steps, limits_.positions));
      return false;
    }
    if (!limits_.max_tokens || tokens <= *limits_.max_tokens) return true;
    out_.left_out.push_back(
        {prompt.id, prompt.kind, tokens, fmt::format("longer than the {} tokens asked for", *limits_.max_tokens)});
    return false;
  }

  // A text that this tokenizer takes no ids from is that prompt's fault alone.
  Status not_encoded(const frozen::Prompt& prompt, std::optional<std::int64_t> tokens, Error error) {
    if (error.kind != ErrorKind::kInput) return std::move(error).during("encoding prompt " + prompt.id);
    refuse(prompt, tokens, error.message);
    return {};
  }

  Status length(const frozen::Prompt& prompt, std::int64_t tokens) {
    if (!fits(prompt, tokens)) return {};
    const auto built = text_of_tokens(tokenizer_, tokens, prompt.add_special_tokens);
    if (!built.ok()) return not_encoded(prompt, tokens, built.error());
    if (*built) return text(prompt, **built);
    refuse(prompt, tokens, fmt::format("no text of exactly {} ids was found for this tokenizer", tokens));
    return {};
  }

  Status text(const frozen::Prompt& prompt, const std::string& text) {
    auto ids = tokenizer_.encode(text, prompt.add_special_tokens);
    if (!ids.ok()) return not_encoded(prompt, std::nullopt, ids.error());
    if (!fits(prompt, static_cast<std::int64_t>(ids->size()))) return {};
    frozen::ReferenceItem item;
    item.prompt = prompt;
    item.prompt.text = text;
    item.prompt.recipe.reset();
    item.ids = std::move(ids).value();
    out_.items.push_back(std::move(item));
    return {};
  }

  const hf::Tokenizer& tokenizer_;
  const PromptLimits& limits_;
  frozen::Reference out_;
};

}  // namespace

Result<frozen::Reference> resolve_prompts(const hf::Tokenizer& tokenizer, const PromptLimits& limits,
                                          const std::vector<frozen::Prompt>& prompts, const std::string& dtype) {
  Resolver resolver(tokenizer, limits);
  for (const frozen::Prompt& prompt : prompts) {
    if (interrupted()) return interrupted_error();
    CALKIT_CHECK_OK(resolver.add(prompt));
  }
  frozen::Reference out = resolver.take();
  out.dtype = dtype;
  out.max_tokens = limits.max_tokens;
  if (!out.items.empty()) return out;
  const frozen::Unanswered& first = out.refused.empty() ? out.left_out.front() : out.refused.front();
  return Error{
      ErrorKind::kInput,
      fmt::format("prompts: none of {} can be answered; prompt '{}': {}", prompts.size(), first.id, first.reason),
      "give shorter prompts, or lower --steps"};
}

}  // namespace calkit::baseline
