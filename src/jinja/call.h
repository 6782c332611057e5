#pragma once
/// Things that can be called (private to jinja).
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "ast.h"

namespace calkit::jinja {

class Run;
struct Frame;

struct Args {
  std::vector<Var> positional;
  std::vector<std::pair<std::string, Var>> named;
};

using Builtin = Result<Var> (*)(Run&, const Var& self, Args& args);

struct Function : Object {
  std::string name;
  Builtin call = nullptr;
  Var self;  ///< of a method
};
struct Macro : Object {
  const Routine* routine = nullptr;
  const Body* body = nullptr;
  Frame* frame = nullptr;  ///< where it was defined
};

Var make_function(std::string name, Builtin call, Var self = Var::none());

/// Arguments in the order of `names`; what is not given is missing. @param required so many of them must be given.
Result<std::vector<Var>> bind(const std::string& what, Args& args, std::initializer_list<const char*> names,
                              std::size_t required);

/// The filter, test or method of a name; nullptr if there is none.
Builtin find_filter(const std::string& name);
Builtin find_test(const std::string& name);
Builtin find_text_method(const std::string& name);
Builtin find_dict_method(const std::string& name);
Builtin find_list_method(const std::string& name);
/// Methods that Python has and this engine has not.
bool lacks_text_method(const std::string& name);

/// The functions that every template has.
Var find_global(const Run& run, const std::string& name);

}  // namespace calkit::jinja
