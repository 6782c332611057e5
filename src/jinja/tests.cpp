#include <fmt/format.h>

#include <map>

#include "ops.h"
#include "parser.h"

namespace calkit::jinja {
namespace {

Status none_given(Args& args, const char* name) {
  CALKIT_TRY(const auto given, bind(name, args, {}, 0));
  return {};
}

template <bool (*kHolds)(const Var&)>
Result<Var> simple(Run&, const Var& value, Args& args) {
  CALKIT_CHECK_OK(none_given(args, "the test"));
  return Var::boolean(kHolds(value));
}

bool defined(const Var& v) {
  return !v.is(Kind::kUndefined);
}
bool undefined(const Var& v) {
  return v.is(Kind::kUndefined);
}
bool none(const Var& v) {
  return v.is(Kind::kNone);
}
bool boolean(const Var& v) {
  return v.is(Kind::kBool);
}
bool is_true(const Var& v) {
  return v.is(Kind::kBool) && v.boolean();
}
bool is_false(const Var& v) {
  return v.is(Kind::kBool) && !v.boolean();
}
bool integer(const Var& v) {
  return v.is(Kind::kInt);
}
bool real(const Var& v) {
  return v.is(Kind::kFloat);
}
bool number(const Var& v) {
  return v.is_number();
}
bool string(const Var& v) {
  return v.is(Kind::kString);
}
bool mapping(const Var& v) {
  return v.is(Kind::kDict);
}
bool sequence(const Var& v) {
  // Jinja asks for a length and for subscripts: dicts and undefined values have both.
  return v.is(Kind::kString) || v.is_list_like() || v.is(Kind::kDict) || v.is(Kind::kRange) || v.is(Kind::kUndefined);
}
bool iterable(const Var& v) {
  return v.is(Kind::kIterator) || v.is(Kind::kLoop) || size_of(v).has_value();
}
bool callable(const Var& v) {
  return v.is(Kind::kFunction) || v.is(Kind::kMacro) || v.is(Kind::kLoop) || v.is(Kind::kUndefined);
}
bool escaped(const Var& v) {
  return v.markup();
}

Result<Var> remainder(Run& run, const Var& value, const Var& by, std::int64_t wanted) {
  CALKIT_TRY(const auto rest, arithmetic(run, "%", value, by));
  CALKIT_TRY(const bool same, equal(run, rest, Var::integer(wanted)));
  return Var::boolean(same);
}
template <int kWanted>
Result<Var> parity(Run& run, const Var& value, Args& args) {
  CALKIT_CHECK_OK(none_given(args, kWanted == 0 ? "even" : "odd"));
  return remainder(run, value, Var::integer(2), kWanted);
}
Result<Var> divisible(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("divisibleby", args, {"num"}, 1));
  return remainder(run, value, given[0], 0);
}

constexpr char kEq[] = "==", kNe[] = "!=", kLt[] = "<", kLe[] = "<=", kGt[] = ">", kGe[] = ">=", kIn[] = "in";
template <const char* kOp>
Result<Var> compared(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("the test", args, {"other"}, 1));
  CALKIT_TRY(const bool holds, compare(run, kOp, value, given[0]));
  return Var::boolean(holds);
}

Result<Var> same_as(Run&, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("sameas", args, {"other"}, 1));
  const Var& other = given[0];
  if (value.kind() != other.kind()) return Var::boolean(false);
  switch (value.kind()) {
    case Kind::kNone:
      return Var::boolean(true);
    case Kind::kBool:
      return Var::boolean(value.boolean() == other.boolean());
    case Kind::kInt:
    case Kind::kFloat:
    case Kind::kString:
    case Kind::kUndefined:
      return fault(
          fmt::format("sameas between two values of '{}': whether Python shares them is no property of the template",
                      type_name(value)));
    default:
      return Var::boolean(value.identity() == other.identity());
  }
}

template <bool kUpper>
Result<Var> cased(Run& run, const Var& value, Args& args) {
  CALKIT_CHECK_OK(none_given(args, kUpper ? "upper" : "lower"));
  CALKIT_TRY(auto text, str(run, value));
  Args nothing;
  return find_text_method(kUpper ? "isupper" : "islower")(run, Var::text(std::move(text)), nothing);
}

Result<Var> is_filter(Run&, const Var& value, Args& args) {
  CALKIT_CHECK_OK(none_given(args, "filter"));
  return Var::boolean(has_filter(value.text()));
}
Result<Var> is_test(Run&, const Var& value, Args& args) {
  CALKIT_CHECK_OK(none_given(args, "test"));
  return Var::boolean(has_test(value.text()));
}

const std::map<std::string, Builtin, std::less<>>& tests() {
  static const std::map<std::string, Builtin, std::less<>> table = {
      {"odd", parity<1>},
      {"even", parity<0>},
      {"divisibleby", divisible},
      {"defined", simple<defined>},
      {"undefined", simple<undefined>},
      {"filter", is_filter},
      {"test", is_test},
      {"none", simple<none>},
      {"boolean", simple<boolean>},
      {"true", simple<is_true>},
      {"false", simple<is_false>},
      {"integer", simple<integer>},
      {"float", simple<real>},
      {"lower", cased<false>},
      {"upper", cased<true>},
      {"string", simple<string>},
      {"mapping", simple<mapping>},
      {"number", simple<number>},
      {"sequence", simple<sequence>},
      {"iterable", simple<iterable>},
      {"callable", simple<callable>},
      {"sameas", same_as},
      {"escaped", simple<escaped>},
      {"in", compared<kIn>},
      {"==", compared<kEq>},
      {"eq", compared<kEq>},
      {"equalto", compared<kEq>},
      {"!=", compared<kNe>},
      {"ne", compared<kNe>},
      {">", compared<kGt>},
      {"gt", compared<kGt>},
      {"greaterthan", compared<kGt>},
      {">=", compared<kGe>},
      {"ge", compared<kGe>},
      {"<", compared<kLt>},
      {"lt", compared<kLt>},
      {"lessthan", compared<kLt>},
      {"<=", compared<kLe>},
      {"le", compared<kLe>},
  };
  return table;
}

}  // namespace

Builtin find_test(const std::string& name) {
  const auto found = tests().find(name);
  return found == tests().end() ? nullptr : found->second;
}

bool has_test(const std::string& name) {
  return find_test(name) != nullptr;
}

std::string missing_test(const std::string& name) {
  return fmt::format("no test named '{}'", name);
}

}  // namespace calkit::jinja
