#include <fmt/format.h>

#include <algorithm>

#include "filters.h"
#include "parser.h"
#include "unicode.h"

namespace calkit::jinja {
namespace {

using Next = Result<std::optional<Var>>;

Result<Var> length(Run&, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("length", args, {}, 0));
  if (const auto size = size_of(value)) return Var::integer(static_cast<std::int64_t>(*size));
  return fault(fmt::format("the length of a '{}'", type_name(value)));
}

Result<Var> fallback(Run&, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("default", args, {"default_value", "boolean"}, 0));
  if (value.is(Kind::kUndefined) || (truth(given[1]) && !truth(value)))
    return given[0].is(Kind::kMissing) ? Var::text("") : given[0];
  return value;
}

Result<Var> first(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("first", args, {}, 0));
  CALKIT_TRY(const auto walk, iterate(run, value));
  CALKIT_TRY(auto item, walk->next());
  return item ? std::move(*item) : Var::undefined("No first item, sequence was empty.");
}

// The items backwards; kInput for what Python cannot walk backwards.
Result<std::vector<Var>> backwards(Run& run, const Var& value) {
  if (value.is(Kind::kIterator) || !size_of(value))
    return fault(fmt::format("'{}' object is not reversible", type_name(value)));
  CALKIT_TRY(auto items, collect(run, value));
  std::reverse(items.begin(), items.end());
  return items;
}

Result<Var> last(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("last", args, {}, 0));
  if (value.is_list_like() && !value.items().empty()) return value.items().back();
  CALKIT_TRY(const auto items, backwards(run, value));
  return items.empty() ? Var::undefined("No last item, sequence was empty.") : items.front();
}

Result<Var> list(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("list", args, {}, 0));
  CALKIT_TRY(auto items, collect(run, value));
  return run.list(std::move(items));
}

Result<Var> over(Run& run, const Var& value, std::vector<Var> items) {
  auto shared = std::make_shared<std::vector<Var>>(std::move(items));
  return generator(run, value, [shared, at = std::size_t{0}]() mutable -> Next {
    if (at >= shared->size()) return std::optional<Var>();
    return std::optional((*shared)[at++]);
  });
}

Result<Var> reverse(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("reverse", args, {}, 0));
  if (value.is(Kind::kString)) {
    const Var none = Var::none();
    return slice(run, value, none, none, Var::integer(-1));
  }
  if (value.is(Kind::kIterator)) {
    CALKIT_TRY(auto items, collect(run, value));
    std::reverse(items.begin(), items.end());
    return run.list(std::move(items));
  }
  CALKIT_TRY(auto items, backwards(run, value));
  return over(run, value, std::move(items));
}

Result<Var> items_of_mapping(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("items", args, {}, 0));
  const Var held = value;
  return generator(run, value, [held, at = std::size_t{0}]() mutable -> Next {
    if (held.is(Kind::kUndefined)) return std::optional<Var>();
    if (!held.is(Kind::kDict)) return fault("items: the value is no mapping");
    if (at >= held.dict().items.size()) return std::optional<Var>();
    const auto& entry = held.dict().items[at++];
    return std::optional(Var::tuple({entry.first, entry.second}));
  });
}

// What map, select and reject do with each item.
using Each = std::function<Result<Var>(const Var&)>;

Result<Each> mapping(Run& run, Args args) {
  if (args.positional.empty() && !args.named.empty()) {
    CALKIT_TRY(const auto given, bind("map", args, {"attribute", "default"}, 1));
    return Each([&run, path = given[0], other = given[1]](const Var& item) { return follow(run, item, path, other); });
  }
  if (args.positional.empty()) return fault("map without a filter or an attribute");
  const std::string name = args.positional[0].text();
  const Builtin filter = find_filter(name);
  if (filter == nullptr) return fault(missing_filter(name));
  args.positional.erase(args.positional.begin());
  return Each([&run, filter, args](const Var& item) {
    Args own = args;
    return filter(run, item, own);
  });
}

/// A walk that begins when its first item is asked for: only then are the filter's arguments looked at.
struct LateWalk {
  Var value;
  Args args;
  std::shared_ptr<Iterator> walk = nullptr;
  Each each = nullptr;

  /// The next item; `make` gives what is done with each.
  template <class Make>
  Next next(Run& run, const Make& make) {
    if (!truth(value)) return std::optional<Var>();
    if (!walk) {
      CALKIT_TRY(each, make(run, args));
      CALKIT_TRY(walk, iterate(run, value));
    }
    CALKIT_TRY(auto item, walk->next());
    if (item) CALKIT_CHECK_OK(run.step());
    return item;
  }
};

Result<Var> map(Run& run, const Var& value, Args& args) {
  auto walk = std::make_shared<LateWalk>(LateWalk{value, args});
  return generator(run, value, [&run, walk]() -> Next {
    CALKIT_TRY(auto item, walk->next(run, mapping));
    if (!item) return std::optional<Var>();
    CALKIT_TRY(auto out, walk->each(*item));
    return std::optional(std::move(out));
  });
}

Result<Each> selection(Run& run, Args args, bool by_attribute) {
  Var path;
  if (by_attribute) {
    if (args.positional.empty()) return fault("the name of an attribute is missing");
    path = args.positional[0];
    args.positional.erase(args.positional.begin());
  }
  if (args.positional.empty()) return Each([&run, path](const Var& item) { return follow(run, item, path, Var()); });
  const std::string name = args.positional[0].text();
  const Builtin test = find_test(name);
  if (test == nullptr) return fault(missing_test(name));
  args.positional.erase(args.positional.begin());
  return Each([&run, path, test, args](const Var& item) -> Result<Var> {
    CALKIT_TRY(const auto part, follow(run, item, path, Var()));
    Args own = args;
    return test(run, part, own);
  });
}

template <bool kKeeps, bool kByAttribute>
Result<Var> select(Run& run, const Var& value, Args& args) {
  auto walk = std::make_shared<LateWalk>(LateWalk{value, args});
  return generator(run, value, [&run, walk]() -> Next {
    const auto make = [](Run& r, Args own) { return selection(r, std::move(own), kByAttribute); };
    while (true) {
      CALKIT_TRY(auto item, walk->next(run, make));
      if (!item) return std::optional<Var>();
      CALKIT_TRY(const auto passes, walk->each(*item));
      if (truth(passes) == kKeeps) return item;
    }
  });
}

Result<std::vector<Var>> keys_of(Run& run, const std::vector<Var>& items, const Var& path, bool exact,
                                 const Var& other) {
  std::vector<Var> out;
  for (const Var& item : items) {
    CALKIT_TRY(auto key, follow(run, item, path, other));
    if (!exact) {
      CALKIT_TRY(key, ignoring_case(run, key));
    }
    out.push_back(std::move(key));
  }
  return out;
}

Result<Var> sort(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("sort", args, {"reverse", "case_sensitive", "attribute"}, 0));
  CALKIT_TRY(auto items, collect(run, value));
  std::vector<Var> keys(items.size());
  if (given[2].is(Kind::kString) && given[2].text().find(',') != std::string::npos) {
    std::vector<std::vector<Var>> parts(items.size());
    std::string_view rest = given[2].text();
    while (true) {
      const std::size_t comma = rest.find(',');
      CALKIT_TRY(const auto column,
                 keys_of(run, items, Var::text(std::string(rest.substr(0, comma))), truth(given[1]), Var()));
      for (std::size_t i = 0; i < items.size(); ++i) parts[i].push_back(column[i]);
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
    for (std::size_t i = 0; i < items.size(); ++i) keys[i] = Var::tuple(std::move(parts[i]));
  } else {
    CALKIT_TRY(keys, keys_of(run, items, given[2], truth(given[1]), Var()));
  }
  CALKIT_TRY(auto out, sorted(run, std::move(items), std::move(keys), truth(given[0])));
  return run.list(std::move(out));
}

Result<Var> dictsort(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("dictsort", args, {"case_sensitive", "by", "reverse"}, 0));
  const std::string by = given[1].is(Kind::kMissing) ? "key" : given[1].text();
  if (by != "key" && by != "value") return fault("dictsort: only by \"key\" or \"value\"");
  if (value.is(Kind::kUndefined)) return need_value(value);
  if (!value.is(Kind::kDict)) return fault(fmt::format("dictsort of a '{}'", type_name(value)));
  std::vector<Var> items, keys;
  for (const auto& [key, member] : value.dict().items) {
    CALKIT_CHECK_OK(run.step());
    items.push_back(Var::tuple({key, member}));
    keys.push_back(by == "key" ? key : member);
    if (truth(given[0])) continue;
    CALKIT_TRY(keys.back(), ignoring_case(run, keys.back()));
  }
  CALKIT_TRY(auto out, sorted(run, std::move(items), std::move(keys), truth(given[2])));
  return run.list(std::move(out));
}

Result<Var> unique(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("unique", args, {"case_sensitive", "attribute"}, 0));
  CALKIT_TRY(const auto walk, iterate(run, value));
  auto seen = std::make_shared<Dict>();
  return generator(run, value, [&run, walk, seen, path = given[1], exact = truth(given[0])]() -> Next {
    while (true) {
      CALKIT_TRY(auto item, walk->next());
      if (!item) return std::optional<Var>();
      CALKIT_CHECK_OK(run.step());
      CALKIT_TRY(auto key, follow(run, *item, path, Var()));
      if (!exact) {
        CALKIT_TRY(key, ignoring_case(run, key));
      }
      if (key.is(Kind::kUndefined)) key = Var::tuple({Var::text("an undefined value")});
      if (!key_text(key)) return fault(fmt::format("unique: a '{}' cannot be told apart by its hash", type_name(key)));
      if (seen->find(key) != nullptr) continue;
      CALKIT_CHECK_OK(run.charge(sizeof(Var) + 80));
      seen->set(std::move(key), Var::none());
      return item;
    }
  });
}

template <bool kMost>
Result<Var> extreme(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind(kMost ? "max" : "min", args, {"case_sensitive", "attribute"}, 0));
  CALKIT_TRY(const auto items, collect(run, value));
  if (items.empty()) return Var::undefined("No aggregated item, sequence was empty.");
  CALKIT_TRY(const auto keys, keys_of(run, items, given[1], truth(given[0]), Var()));
  std::size_t best = 0;
  for (std::size_t i = 1; i < items.size(); ++i) {
    CALKIT_TRY(const bool better, kMost ? less(run, keys[best], keys[i], ">") : less(run, keys[i], keys[best]));
    if (better) best = i;
  }
  return items[best];
}

Result<Var> sum(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("sum", args, {"attribute", "start"}, 0));
  Var out = given[1].is(Kind::kMissing) ? Var::integer(0) : given[1];
  if (out.is(Kind::kString)) return fault("sum: strings are joined, not added up");
  CALKIT_TRY(const auto items, collect(run, value));
  for (const Var& item : items) {
    CALKIT_TRY(const auto part, follow(run, item, given[0], Var()));
    CALKIT_TRY(out, arithmetic(run, "+", out, part));
  }
  return out;
}

Result<Var> batch(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("batch", args, {"linecount", "fill_with"}, 1));
  CALKIT_TRY(const std::int64_t count, want_int(given[0], "batch"));
  if (count < 1) return fault("batch: a count below 1; not supported");
  CALKIT_TRY(const auto items, collect(run, value));
  std::vector<Var> out;
  for (std::size_t i = 0; i < items.size();) {
    std::vector<Var> line;
    for (; i < items.size() && line.size() < static_cast<std::size_t>(count); ++i) line.push_back(items[i]);
    while (!given[1].is(Kind::kMissing) && !given[1].is(Kind::kNone) && line.size() < static_cast<std::size_t>(count)) {
      CALKIT_CHECK_OK(run.step());
      CALKIT_CHECK_OK(run.charge(sizeof(Var)));
      line.push_back(given[1]);
    }
    CALKIT_TRY(auto one, run.list(std::move(line)));
    out.push_back(std::move(one));
  }
  return over(run, value, std::move(out));
}

Result<Var> slices(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("slice", args, {"slices", "fill_with"}, 1));
  CALKIT_TRY(const std::int64_t count, want_int(given[0], "slice"));
  if (count < 1) return fault("slice: a count below 1; not supported");
  CALKIT_TRY(const auto items, collect(run, value));
  CALKIT_CHECK_OK(run.step(static_cast<std::uint64_t>(count)));
  const auto parts = static_cast<std::size_t>(count);
  std::vector<Var> out;
  std::size_t at = 0;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t size = items.size() / parts + (i < items.size() % parts ? 1 : 0);
    std::vector<Var> one(items.begin() + static_cast<std::ptrdiff_t>(at),
                         items.begin() + static_cast<std::ptrdiff_t>(at + size));
    at += size;
    if (!given[1].is(Kind::kMissing) && !given[1].is(Kind::kNone) && i >= items.size() % parts) one.push_back(given[1]);
    CALKIT_TRY(auto made, run.list(std::move(one)));
    out.push_back(std::move(made));
  }
  return over(run, value, std::move(out));
}

Result<Var> groupby(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("groupby", args, {"attribute", "default", "case_sensitive"}, 1));
  const Var other = given[1].is(Kind::kNone) ? Var() : given[1];
  CALKIT_TRY(auto items, collect(run, value));
  CALKIT_TRY(auto keys, keys_of(run, items, given[0], truth(given[2]), other));
  CALKIT_TRY(items, sorted(run, std::move(items), std::move(keys), false));
  CALKIT_TRY(const auto ordered, keys_of(run, items, given[0], truth(given[2]), other));
  std::vector<Var> out;
  for (std::size_t i = 0; i < items.size();) {
    std::vector<Var> members;
    const std::size_t begin = i;
    for (; i < items.size(); ++i) {
      CALKIT_TRY(const bool same, equal(run, ordered[begin], ordered[i]));
      if (!same) break;
      members.push_back(items[i]);
    }
    CALKIT_TRY(auto key, follow(run, items[begin], given[0], other));
    CALKIT_TRY(auto list, run.list(std::move(members)));
    auto group = std::make_shared<List>();
    group->depth = std::max(key.depth(), list.depth()) + 1;
    group->items = {std::move(key), std::move(list)};
    group->group = true;
    out.push_back(Var::of(Kind::kTuple, std::move(group)));
    CALKIT_CHECK_OK(run.check_depth(out.back()));
  }
  return run.list(std::move(out));
}

Result<Var> attr(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("attr", args, {"name"}, 1));
  if (!given[0].is(Kind::kString)) return fault("attr: a name that is no string");
  if (value.is(Kind::kDict) && find_dict_method(given[0].text()) == nullptr)
    return Var::undefined(fmt::format("'dict' object has no attribute '{}'", given[0].text()));
  return attribute_of(run, value, given[0].text());
}

constexpr Named kTable[] = {
    {"attr", attr},
    {"batch", batch},
    {"count", length},
    {"d", fallback},
    {"default", fallback},
    {"dictsort", dictsort},
    {"first", first},
    {"groupby", groupby},
    {"items", items_of_mapping},
    {"last", last},
    {"length", length},
    {"list", list},
    {"map", map},
    {"max", extreme<true>},
    {"min", extreme<false>},
    {"reject", select<false, false>},
    {"rejectattr", select<false, true>},
    {"reverse", reverse},
    {"select", select<true, false>},
    {"selectattr", select<true, true>},
    {"slice", slices},
    {"sort", sort},
    {"sum", sum},
    {"unique", unique},
};

}  // namespace

const std::pair<const Named*, std::size_t> kSequenceFilters{kTable, std::size(kTable)};

}  // namespace calkit::jinja
