#pragma once
/// Methods of strings by what they do, and what they share (private to jinja).
#include <map>
#include <string>
#include <string_view>

#include "ops.h"

namespace calkit::jinja {

using TextMethods = std::map<std::string, Builtin, std::less<>>;
const TextMethods& cutting_methods();    ///< split and join
const TextMethods& searching_methods();  ///< find, count, replace

/// A text that is markup if `self` is.
Result<Var> made(Run& run, const Var& self, std::string_view text);
/// @param what the method, for the message
Result<const std::string*> want_text(const Var& value, const char* what);
bool absent(const Var& value);  ///< not given, or none

}  // namespace calkit::jinja
