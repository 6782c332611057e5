#include <fmt/format.h>

#include "ops.h"
#include "unicode.h"

namespace calkit::jinja {
namespace {

template <View::What kWhat>
Result<Var> view(Run& run, const Var& self, Args& args) {
  CALKIT_TRY(const auto given, bind("the method", args, {}, 0));
  CALKIT_CHECK_OK(run.charge(80));
  auto out = std::make_shared<View>();
  out->what = kWhat;
  out->dict = self.object();
  return Var::of(Kind::kView, std::move(out));
}

Result<Var> get(Run&, const Var& self, Args& args) {
  CALKIT_TRY(auto given, bind("get", args, {"key", "default"}, 1));
  if (!key_text(given[0]) && !given[0].is(Kind::kUndefined))
    return fault(fmt::format("'{}' as the key of a dict", type_name(given[0])));
  if (const Var* found = self.dict().find(given[0])) return *found;
  return given[1].is(Kind::kMissing) ? Var::none() : given[1];
}

Result<Var> copy(Run& run, const Var& self, Args& args) {
  CALKIT_TRY(const auto given, bind("copy", args, {}, 0));
  CALKIT_CHECK_OK(run.step());
  return self;  // nothing can change either of them
}

Result<Var> list_count(Run& run, const Var& self, Args& args) {
  CALKIT_TRY(const auto given, bind("count", args, {"value"}, 1));
  std::int64_t out = 0;
  for (const Var& item : self.items()) {
    CALKIT_TRY(const bool same, equal(run, item, given[0]));
    out += same ? 1 : 0;
  }
  return Var::integer(out);
}

Result<Var> list_index(Run& run, const Var& self, Args& args) {
  CALKIT_TRY(const auto given, bind("index", args, {"value", "start", "stop"}, 1));
  if (!given[1].is(Kind::kMissing)) return fault("index with a start; not supported");
  for (std::size_t i = 0; i < self.items().size(); ++i) {
    CALKIT_TRY(const bool same, equal(run, self.items()[i], given[0]));
    if (same) return Var::integer(static_cast<std::int64_t>(i));
  }
  return fault("index: the value is not in the list");
}

Result<Var> range(Run& run, const Var&, Args& args) {
  if (!args.named.empty()) return fault("range takes no named arguments");
  if (args.positional.empty() || args.positional.size() > 3)
    return fault(fmt::format("range takes 1 to 3 arguments, {} are given", args.positional.size()));
  std::int64_t parts[3] = {0, 0, 1};
  for (std::size_t i = 0; i < args.positional.size(); ++i) {
    CALKIT_TRY(parts[i], want_int(args.positional[i], "range"));
  }
  if (args.positional.size() == 1) std::swap(parts[0], parts[1]);
  if (parts[2] == 0) return fault("range with the step 0");
  const auto wide = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
  const bool up = parts[2] > 0;
  const bool empty = up ? parts[0] >= parts[1] : parts[0] <= parts[1];
  const std::uint64_t distance = up ? wide(parts[1]) - wide(parts[0]) : wide(parts[0]) - wide(parts[1]);
  const std::uint64_t stride = up ? wide(parts[2]) : 0 - wide(parts[2]);
  const std::uint64_t length = empty ? 0 : (distance - 1) / stride + 1;
  if (length > 100000) return fault("range of more than 100000 items, which the sandbox does not allow");
  CALKIT_CHECK_OK(run.charge(80));
  auto out = std::make_shared<Range>();
  out->start = parts[0];
  out->stop = parts[1];
  out->step = parts[2];
  out->length = static_cast<std::int64_t>(length);
  return Var::of(Kind::kRange, std::move(out));
}

// What dict() and namespace() take: one mapping or list of pairs, and named values.
Status fill(Run& run, Dict& out, Args& args, const char* what) {
  if (args.positional.size() > 1) return fault(fmt::format("{} takes at most 1 argument without a name", what));
  const auto set = [&](Var key, Var value) -> Status {
    CALKIT_CHECK_OK(run.step());
    CALKIT_CHECK_OK(run.charge(2 * sizeof(Var) + 80));
    if (!key_text(key)) return fault(fmt::format("'{}' as the key of a dict", type_name(key)));
    out.set(std::move(key), std::move(value));
    return {};
  };
  if (!args.positional.empty()) {
    const Var& from = args.positional[0];
    if (from.is(Kind::kUndefined)) return need_value(from);
    if (from.is(Kind::kDict)) {
      for (const auto& [key, value] : from.dict().items) CALKIT_CHECK_OK(set(key, value));
    } else {
      CALKIT_TRY(const auto pairs, collect(run, from));
      for (const Var& pair : pairs) {
        CALKIT_TRY(const auto two, collect(run, pair));
        if (two.size() != 2) return fault(fmt::format("{}: an item of {} values; pairs are needed", what, two.size()));
        CALKIT_CHECK_OK(set(two[0], two[1]));
      }
    }
  }
  for (auto& [name, value] : args.named) CALKIT_CHECK_OK(set(Var::text(name), std::move(value)));
  return {};
}

Result<Var> make_dict(Run& run, const Var&, Args& args) {
  auto out = std::make_shared<Dict>();
  CALKIT_CHECK_OK(fill(run, *out, args, "dict"));
  Var made = Var::of(Kind::kDict, std::move(out));
  CALKIT_CHECK_OK(run.check_depth(made));
  return made;
}

Result<Var> make_namespace(Run& run, const Var&, Args& args) {
  auto out = std::make_shared<Namespace>();
  CALKIT_CHECK_OK(fill(run, out->values, args, "namespace"));
  for (const auto& [key, value] : out->values.items)
    if (key.text().starts_with('_'))
      return fault(
          fmt::format("the attribute '{}' of a namespace; names with '_' in front are not allowed", key.text()));
  return run.name_space(std::move(out));
}

Result<Var> raise_exception(Run& run, const Var&, Args& args) {
  CALKIT_TRY(const auto given, bind("raise_exception", args, {"message"}, 1));
  CALKIT_TRY(const auto message, str(run, given[0]));
  return fault("the template says: " + message);
}

Result<Var> strftime_now(Run& run, const Var&, Args& args) {
  CALKIT_TRY(const auto given, bind("strftime_now", args, {"format"}, 1));
  if (!given[0].is(Kind::kString)) return fault("strftime_now: a format that is no string");
  run.clock_read = true;
  CALKIT_TRY(auto text, format_time(*run.options().clock, given[0].text()));
  return run.text(std::move(text));
}

Result<Var> no_such_global(Run&, const Var& self, Args&) {
  return fault(fmt::format("the function '{}'; not supported", self.text()));
}

}  // namespace

Builtin find_dict_method(const std::string& name) {
  if (name == "items") return view<View::kItems>;
  if (name == "keys") return view<View::kKeys>;
  if (name == "values") return view<View::kValues>;
  if (name == "get") return get;
  return name == "copy" ? copy : nullptr;
}

Builtin find_list_method(const std::string& name) {
  if (name == "count") return list_count;
  if (name == "index") return list_index;
  return name == "copy" ? copy : nullptr;
}

Var find_global(const Run& run, const std::string& name) {
  if (name == "range") return make_function(name, range);
  if (name == "dict") return make_function(name, make_dict);
  if (name == "namespace") return make_function(name, make_namespace);
  if (name == "raise_exception") return make_function(name, raise_exception);
  if (name == "strftime_now" && run.options().clock) return make_function(name, strftime_now);
  for (const char* known : {"lipsum", "cycler", "joiner"})
    if (name == known) return make_function(name, no_such_global, Var::text(name));
  return {};
}

}  // namespace calkit::jinja
