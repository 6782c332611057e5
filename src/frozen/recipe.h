#pragma once
/// Recipes in lines of prompts (private to frozen).
#include "calkit/frozen/baseline.h"

namespace calkit::frozen {

/// Reads tokens, context_limit or special_tokens of a line; nullopt if it has none of them. kInput: more than one.
Result<std::optional<Recipe>> read_recipe(const Cursor& at);

/// Sets its key in a prompt's line.
void add_recipe(const Recipe& recipe, Value& line);

}  // namespace calkit::frozen
