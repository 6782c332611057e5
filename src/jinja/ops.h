#pragma once
/// Python's operators on values (private to jinja).
#include <functional>

#include "calkit/base/html.h"
#include "run.h"

namespace calkit::jinja {

Error fault(const std::string& message);  ///< the run adds file and line
Error need_value(const Var& undefined);   ///< an undefined value was used
Result<bool> equal(Run& run, const Var& a, const Var& b);
/// "<" as sorting and comparing need it; kInput for types that have no order.
Result<bool> less(Run& run, const Var& a, const Var& b, const char* op = "<");
Result<bool> compare(Run& run, const std::string& op, const Var& a, const Var& b);
Result<bool> contains(Run& run, const Var& container, const Var& item);
Result<Var> arithmetic(Run& run, const std::string& op, const Var& a, const Var& b);

/// value[key], as Jinja looks it up: nothing found is an undefined value.
Result<Var> item_of(Run& run, const Var& value, const Var& key);
/// value.name
Result<Var> attribute_of(Run& run, const Var& value, const std::string& name);
Result<Var> slice(Run& run, const Var& value, const Var& start, const Var& stop, const Var& step);

/// Something to walk over; kInput for a value that has no items.
Result<std::shared_ptr<Iterator>> iterate(Run& run, const Var& value);
Result<std::vector<Var>> collect(Run& run, const Var& value);
/// An iterator over what a function gives, until it gives nothing.
/// @param over what it walks over
Result<Var> generator(Run& run, const Var& over, std::function<Result<std::optional<Var>>()> next);

/// str(value) and repr(value).
Result<std::string> str(Run& run, const Var& value);
Result<std::string> repr(Run& run, const Var& value);
/// Text stays what it is (markup too), anything else is str(value).
Result<Var> soft_str(Run& run, const Var& value);
std::string float_text(double value);
/// Text of either kind as markup: what is not markup yet is escaped.
Result<Var> markup_of(Run& run, const Var& value);

Result<std::int64_t> want_int(const Var& value, const char* what);
Result<Var> percent_format(Run& run, const Var& format, const Var& values);
Result<Var> brace_format(Run& run, const Var& format, Args& args);
Result<std::string> to_json_text(Run& run, const Var& value, bool ascii, const Var& indent, const Var& separators,
                                 bool sorted);
Result<std::string> format_time(std::int64_t clock, const std::string& format);

/// A text search that stays linear whatever is looked for.
std::size_t find_text(std::string_view where, std::string_view what, std::size_t from);

}  // namespace calkit::jinja
