#pragma once
/// Tokens to the tree (private to jinja).
#include <string>

#include "ast.h"
#include "lexer.h"

namespace calkit::jinja {

/// The tree, with names bound to slots of frames; `root` is the outermost frame.
struct Tree {
  Body body;
  Scope root;
  bool mentions_clock = false;
};
Result<Tree> parse(const std::vector<Token>& tokens, const std::string& file);

/// Binds every name: which frame holds it, and how each slot of a frame begins. Follows the rules by which Jinja's
/// compiler decides that, which only look at the text of the template.
Status bind_names(Tree& tree, const std::string& file);

/// Does a filter or a test of that name exist here? Why not, if it is one of Jinja's.
bool has_filter(const std::string& name);
bool has_test(const std::string& name);
std::string missing_filter(const std::string& name);
std::string missing_test(const std::string& name);

}  // namespace calkit::jinja
