#pragma once
/// The tables of the filter files (private to jinja).
#include <string>
#include <utility>

#include "ops.h"

namespace calkit::jinja {

struct Named {
  const char* name;
  Builtin call;
};

extern const std::pair<const Named*, std::size_t> kTextFilters, kSequenceFilters, kNumberFilters;

/// The attribute that filters take: "a.b.0" steps down; digits are indices. Missing or none: the value itself.
Result<Var> follow(Run& run, const Var& value, const Var& path, const Var& fallback);
/// Lower case of text, everything else as it is.
Result<Var> ignoring_case(Run& run, const Var& value);
/// Stable sort by keys.
Result<std::vector<Var>> sorted(Run& run, std::vector<Var> items, std::vector<Var> keys, bool reverse);

}  // namespace calkit::jinja
