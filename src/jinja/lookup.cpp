#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ops.h"
#include "unicode.h"

namespace calkit::jinja {
namespace {

constexpr std::array<std::string_view, 8> kChangesList = {"append", "clear", "pop",    "reverse",
                                                          "insert", "sort",  "extend", "remove"};
constexpr std::array<std::string_view, 5> kChangesDict = {"clear", "pop", "popitem", "setdefault", "update"};

template <std::size_t N>
bool among(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Var no_attribute(const Var& value, const std::string& name) {
  return Var::undefined(fmt::format("'{}' object has no attribute '{}'", type_name(value), name));
}

Result<Var> not_supported(Run&, const Var& self, Args&) {
  return fault(fmt::format("the method '{}'; not supported", self.text()));
}

Result<std::int64_t> position(std::int64_t index, std::size_t size) {
  return index < 0 ? index + static_cast<std::int64_t>(size) : index;
}

// value[key] as Python has it, or nothing.
Result<std::optional<Var>> python_item(Run& run, const Var& value, const Var& key) {
  if (value.is(Kind::kDict)) {
    const Var* found = value.dict().find(key);
    return found == nullptr ? std::optional<Var>() : std::optional(*found);
  }
  if (!key.is_integer()) return std::optional<Var>();
  const auto size = size_of(value);
  if (!size || value.is(Kind::kView)) return std::optional<Var>();
  CALKIT_TRY(const std::int64_t at, position(key.integer(), *size));
  if (at < 0 || at >= static_cast<std::int64_t>(*size)) return std::optional<Var>();
  const auto index = static_cast<std::size_t>(at);
  if (value.is_list_like()) return std::optional(value.items()[index]);
  if (value.is(Kind::kRange)) return std::optional(Var::integer(value.range().at(index)));
  const Text& text = value.as_text();
  if (text.ascii()) {
    CALKIT_TRY(auto one, run.text(text.text.substr(index, 1), text.markup));
    return std::optional(std::move(one));
  }
  CALKIT_CHECK_OK(run.scan(text.text.size()));
  const std::size_t begin = byte_of(text.text, index);
  const std::size_t bytes = byte_of(std::string_view(text.text).substr(begin), 1);
  CALKIT_TRY(auto one, run.text(text.text.substr(begin, bytes), text.markup));
  return std::optional(std::move(one));
}

Var method(const std::string& name, Builtin call, const Var& self) {
  return make_function(name, call, self);
}

// What Python itself calls an attribute of the value; missing if it has none of that name.
Result<Var> python_attribute(Run& run, const Var& value, const std::string& name) {
  if (name == "__class__" || name == "__init__" || name == "__len__" || name == "__doc__")
    return Var::undefined(fmt::format("access to attribute '{}' of '{}' object is unsafe", name, type_name(value)));
  const auto unsafe = [&] {
    return Var::undefined(fmt::format("access to attribute '{}' of '{}' object is unsafe", name, type_name(value)));
  };
  switch (value.kind()) {
    case Kind::kString:
      if (const Builtin call = find_text_method(name)) return method(name, call, value);
      if (lacks_text_method(name)) return method(name, not_supported, Var::text(name));
      return Var();
    case Kind::kDict:
      if (among(kChangesDict, name)) return unsafe();
      if (const Builtin call = find_dict_method(name)) return method(name, call, value);
      if (name == "fromkeys") return method(name, not_supported, Var::text(name));
      return Var();
    case Kind::kList:
    case Kind::kTuple:
      if (value.is(Kind::kList) && among(kChangesList, name)) return unsafe();
      if (const Builtin call = find_list_method(name); call != nullptr && (name != "copy" || value.is(Kind::kList)))
        return method(name, call, value);
      if (static_cast<const List&>(*value.object()).group && (name == "grouper" || name == "list"))
        return value.items()[name == "list" ? 1 : 0];
      return Var();
    case Kind::kNamespace: {
      const Var* found = value.name_space().values.find(std::string_view(name));
      return found == nullptr ? Var() : *found;
    }
    case Kind::kLoop:
      return value.loop().attribute(run, name, value);
    case Kind::kRange:
      if (name == "start" || name == "stop" || name == "step")
        return Var::integer(name == "start"  ? value.range().start
                            : name == "stop" ? value.range().stop
                                             : value.range().step);
      if (name == "count" || name == "index") return method(name, not_supported, Var::text(name));
      return Var();
    case Kind::kInt:
    case Kind::kBool:
    case Kind::kFloat:
      for (const char* known : {"real", "imag", "numerator", "denominator", "conjugate", "bit_length", "bit_count",
                                "to_bytes", "from_bytes", "as_integer_ratio", "is_integer", "hex", "fromhex"})
        if (name == known)
          return fault(fmt::format("the attribute '{}' of a '{}'; not supported", name, type_name(value)));
      return Var();
    case Kind::kMacro:
      if (name == "name") return Var::text(value.macro().routine->name);
      if (name == "arguments" || name == "catch_kwargs" || name == "catch_varargs" || name == "caller" ||
          name == "explicit_caller")
        return fault(fmt::format("the attribute '{}' of a macro; not supported", name));
      return Var();
    default:
      return Var();
  }
}

}  // namespace

Result<Var> item_of(Run& run, const Var& value, const Var& key) {
  if (value.is(Kind::kUndefined)) return need_value(value);
  CALKIT_TRY(auto found, python_item(run, value, key));
  if (found) return std::move(*found);
  if (key.is(Kind::kString)) {
    CALKIT_TRY(auto attribute, python_attribute(run, value, key.text()));
    if (!attribute.is(Kind::kMissing)) return attribute;
    return no_attribute(value, key.text());
  }
  return Var::undefined(fmt::format("{} object has no element", type_name(value)));
}

Result<Var> attribute_of(Run& run, const Var& value, const std::string& name) {
  if (value.is(Kind::kUndefined)) return need_value(value);
  CALKIT_TRY(auto attribute, python_attribute(run, value, name));
  if (!attribute.is(Kind::kMissing)) return attribute;
  if (value.is(Kind::kDict))
    if (const Var* found = value.dict().find(std::string_view(name))) return *found;
  return no_attribute(value, name);
}

Result<Var> slice(Run& run, const Var& value, const Var& start, const Var& stop, const Var& step) {
  if (value.is(Kind::kUndefined)) return need_value(value);
  const auto size = size_of(value);
  if (!size || value.is(Kind::kDict) || value.is(Kind::kView))
    return fault(fmt::format("a slice of a '{}'", type_name(value)));
  const auto length = static_cast<std::int64_t>(*size);
  const auto part = [](const Var& v, std::int64_t fallback) -> Result<std::int64_t> {
    if (v.is(Kind::kNone)) return fallback;
    if (!v.is_integer()) return fault(fmt::format("a '{}' in a slice; integers or none are needed", type_name(v)));
    return v.integer();
  };
  CALKIT_TRY(const std::int64_t by, part(step, 1));
  if (by == 0) return fault("a slice with the step 0");
  const std::int64_t low = by < 0 ? -1 : 0;
  const std::int64_t high = by < 0 ? length - 1 : length;
  const auto clamp = [&](std::int64_t at) {
    if (at < 0) at = at < -length ? low : at + length;
    return std::clamp(at, low, high);
  };
  CALKIT_TRY(std::int64_t first, part(start, by < 0 ? high : low));
  CALKIT_TRY(std::int64_t end, part(stop, by < 0 ? low : high));
  if (!start.is(Kind::kNone)) first = clamp(first);
  if (!stop.is(Kind::kNone)) end = clamp(end);
  const std::uint64_t distance = by > 0 ? (end > first ? static_cast<std::uint64_t>(end - first) : 0)
                                        : (first > end ? static_cast<std::uint64_t>(first - end) : 0);
  const std::uint64_t stride = by > 0 ? static_cast<std::uint64_t>(by) : 0 - static_cast<std::uint64_t>(by);
  const std::uint64_t count = distance == 0 ? 0 : (distance - 1) / stride + 1;
  if (value.is(Kind::kRange)) {
    auto out = std::make_shared<Range>();
    const Range& from = value.range();
    const auto place = [&](std::int64_t index, std::int64_t& into) {
      return !__builtin_mul_overflow(index, from.step, &into) && !__builtin_add_overflow(into, from.start, &into);
    };
    if (!place(first, out->start) || !place(end, out->stop) || __builtin_mul_overflow(from.step, by, &out->step))
      return fault("an integer beyond 64 bits; not supported");
    out->length = static_cast<std::int64_t>(count);
    return Var::of(Kind::kRange, std::move(out));
  }
  CALKIT_CHECK_OK(run.step(count));
  if (value.is(Kind::kString)) {
    const std::string& text = value.text();
    CALKIT_CHECK_OK(run.scan(text.size()));
    if (count == 0) return run.text({}, value.markup());
    const auto at = static_cast<std::size_t>(first);
    if (by == 1) {
      const std::size_t begin = value.as_text().ascii() ? at : byte_of(text, at);
      const std::size_t bytes = value.as_text().ascii() ? count : byte_of(std::string_view(text).substr(begin), count);
      return run.text(text.substr(begin, bytes), value.markup());
    }
    std::vector<std::size_t> begins;
    for (std::size_t i = 0; i < text.size(); ++i)
      if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) begins.push_back(i);
    begins.push_back(text.size());
    std::string out;
    std::int64_t index = first;
    for (std::uint64_t i = 0; i < count; ++i, index = i < count ? index + by : index) {
      const auto p = static_cast<std::size_t>(index);
      out += text.substr(begins[p], begins[p + 1] - begins[p]);
    }
    return run.text(std::move(out), value.markup());
  }
  std::vector<Var> items;
  items.reserve(count);
  std::int64_t index = first;
  for (std::uint64_t i = 0; i < count; ++i, index = i < count ? index + by : index)
    items.push_back(value.items()[static_cast<std::size_t>(index)]);
  return value.is(Kind::kList) ? run.list(std::move(items)) : run.tuple(std::move(items));
}

}  // namespace calkit::jinja
