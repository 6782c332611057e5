#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "calkit/base/text.h"
#include "ops.h"

namespace calkit::jinja {
namespace {

Result<bool> equal_lists(Run& run, const std::vector<Var>& a, const std::vector<Var>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    CALKIT_TRY(const bool same, equal(run, a[i], b[i]));
    if (!same) return false;
  }
  return true;
}

Result<bool> equal_dicts(Run& run, const Dict& a, const Dict& b) {
  if (a.items.size() != b.items.size()) return false;
  for (const auto& [key, value] : a.items) {
    const Var* other = b.find(key);
    if (other == nullptr) return false;
    CALKIT_TRY(const bool same, equal(run, value, *other));
    if (!same) return false;
  }
  return true;
}

// An integer and a double as Python compares them: exactly.
int order_numbers(const Var& a, const Var& b) {
  if (a.is_integer() && b.is_integer()) return a.integer() < b.integer() ? -1 : a.integer() > b.integer() ? 1 : 0;
  const auto x = a.is_integer() ? static_cast<long double>(a.integer()) : static_cast<long double>(a.real());
  const auto y = b.is_integer() ? static_cast<long double>(b.integer()) : static_cast<long double>(b.real());
  return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
}

Error no_order(const Var& a, const Var& b, const char* op) {
  if (a.is(Kind::kUndefined)) return need_value(a);
  if (b.is(Kind::kUndefined)) return need_value(b);
  return fault(fmt::format("'{}' between '{}' and '{}'", op, type_name(a), type_name(b)));
}

}  // namespace

// The message may hold what the template says, which must not steer the terminal.
Error fault(const std::string& message) {
  return Error{ErrorKind::kInput, printable(message, 2000)};
}

Error need_value(const Var& undefined) {
  return fault(undefined.why());
}

std::size_t find_text(std::string_view where, std::string_view what, std::size_t from) {
  if (from > where.size()) return std::string_view::npos;
  if (what.empty()) return from;
  const void* found = ::memmem(where.data() + from, where.size() - from, what.data(), what.size());
  return found == nullptr ? std::string_view::npos
                          : static_cast<std::size_t>(static_cast<const char*>(found) - where.data());
}

Result<bool> equal(Run& run, const Var& a, const Var& b) {
  CALKIT_CHECK_OK(run.step());
  if (a.is_number() && b.is_number()) return order_numbers(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kString:
      CALKIT_CHECK_OK(run.scan(std::min(a.text().size(), b.text().size())));
      return a.text() == b.text();
    case Kind::kList:
    case Kind::kTuple:
      return a.identity() == b.identity() ? Result<bool>(true) : equal_lists(run, a.items(), b.items());
    case Kind::kDict:
      return a.identity() == b.identity() ? Result<bool>(true) : equal_dicts(run, a.dict(), b.dict());
    case Kind::kRange: {
      const Range& x = a.range();
      const Range& y = b.range();
      return x.length == y.length && (x.length == 0 || (x.start == y.start && (x.length == 1 || x.step == y.step)));
    }
    default:
      return a.identity() == b.identity();
  }
}

Result<bool> less(Run& run, const Var& a, const Var& b, const char* op) {
  CALKIT_CHECK_OK(run.step());
  if (a.is_number() && b.is_number()) return order_numbers(a, b) == -1;
  if (a.is(Kind::kString) && b.is(Kind::kString)) {
    CALKIT_CHECK_OK(run.scan(std::min(a.text().size(), b.text().size())));
    return a.text() < b.text();  // bytes of UTF-8 are in the order of code points
  }
  if (!a.is_list_like() || a.kind() != b.kind()) return no_order(a, b, op);
  const auto& x = a.items();
  const auto& y = b.items();
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    CALKIT_TRY(const bool same, equal(run, x[i], y[i]));
    if (!same) return less(run, x[i], y[i], op);
  }
  return x.size() < y.size();
}

Result<bool> compare(Run& run, const std::string& op, const Var& a, const Var& b) {
  if (op == "==") return equal(run, a, b);
  if (op == "in") return contains(run, b, a);
  if (op == "!=" || op == "not in") {
    CALKIT_TRY(const bool holds, op == "!=" ? equal(run, a, b) : contains(run, b, a));
    return !holds;
  }
  // NaN is in no order, so each comparison is asked as it stands.
  if (a.is_number() && b.is_number()) {
    const int order = order_numbers(a, b);
    return op == "<"    ? order == -1
           : op == ">"  ? order == 1
           : op == "<=" ? order == -1 || order == 0
                        : order == 0 || order == 1;
  }
  if (op == "<") return less(run, a, b, "<");
  if (op == ">") return less(run, b, a, ">");
  CALKIT_TRY(const bool strictly, op == "<=" ? less(run, b, a, "<=") : less(run, a, b, ">="));
  return !strictly;
}

Result<bool> contains(Run& run, const Var& container, const Var& item) {
  if (container.is(Kind::kString)) {
    if (!item.is(Kind::kString)) {
      if (item.is(Kind::kUndefined)) return need_value(item);
      return fault(fmt::format("'in <string>' needs a string on its left, not a '{}'", type_name(item)));
    }
    CALKIT_CHECK_OK(run.scan(container.text().size()));
    return find_text(container.text(), item.text(), 0) != std::string_view::npos;
  }
  if (container.is(Kind::kDict)) {
    if (!key_text(item) && !item.is(Kind::kUndefined))
      return fault(fmt::format("'{}' as the key of a dict", type_name(item)));
    return container.dict().find(item) != nullptr;
  }
  CALKIT_TRY(const auto walk, iterate(run, container));
  while (true) {
    CALKIT_TRY(const auto one, walk->next());
    if (!one) return false;
    CALKIT_TRY(const bool same, equal(run, *one, item));
    if (same) return true;
  }
}

}  // namespace calkit::jinja
