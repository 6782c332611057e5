#pragma once
/// What the two directions of a dialect share: steps through a document, and one value through one parser.
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "calkit/calbin/dialect.h"

namespace calkit::calbin {

/// One step to a place: a member's key or a place in a list.
using Step = std::variant<std::string, std::size_t>;
using Path = std::vector<Step>;

std::string pointer_of(const Path& path);
std::vector<std::string> steps_of(std::string_view pointer);  ///< unescaped; the pointer is empty or begins with '/'
std::optional<Parser> parser_of(std::string_view name);

/// The value of that place, or nullptr.
const Value* look_up(const Value& root, const Path& path);
/// The value of that place; what lies above is made as needed. nullptr where something else is in the way.
Value* make_place(Value& root, const Path& path);

/// The producer's value as the canonical field holds it; what cannot be read is carried over.
Value parse_value(const Mapping& mapping, const Value& raw);
/// What parse_value() may have read to give this, or the value as it is.
Value unparse_value(const Mapping& mapping, const Value& canonical);

/// Values that no pattern reaches: the topmost of each branch, in the order of the document.
struct Stray {
  std::string pointer;
  const Value* value;
  std::string nearest;
};
struct KnownPath {
  const Pattern* pattern;
  bool whole;  ///< everything below is known, too
};
std::vector<Stray> strays(const Value& root, const std::vector<KnownPath>& known);

}  // namespace calkit::calbin
