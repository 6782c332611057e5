#include "recipe.h"

namespace calkit::frozen {
namespace {

constexpr std::int64_t kMaxTokens = std::int64_t{1} << 24;

}  // namespace

Result<std::optional<Recipe>> read_recipe(const Cursor& at) {
  Recipe out;
  int found = 0;
  if (const auto tokens = at.find("tokens")) {
    CALKIT_TRY(out.tokens, tokens->as_int(1, kMaxTokens));
    ++found;
  }
  if (const auto limit = at.find("context_limit")) {
    CALKIT_TRY(out.context_limit, limit->as_int(-1, 1));
    ++found;
  }
  if (const auto special = at.find("special_tokens")) {
    CALKIT_TRY(out.special_tokens, special->as_word({"joined", "spaced", "quoted"}));
    ++found;
  }
  if (found > 1) return at.error("more than one of tokens, context_limit and special_tokens", "one of them");
  return found == 0 ? std::nullopt : std::optional<Recipe>(out);
}

void add_recipe(const Recipe& recipe, Value& line) {
  if (recipe.tokens) line.set("tokens", *recipe.tokens);
  if (recipe.context_limit) line.set("context_limit", *recipe.context_limit);
  if (!recipe.special_tokens.empty()) line.set("special_tokens", recipe.special_tokens);
}

}  // namespace calkit::frozen
