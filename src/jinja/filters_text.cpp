#include <fmt/format.h>

#include "calkit/base/unicode.h"
#include "filters.h"
#include "unicode.h"

namespace calkit::jinja {
namespace {

// A filter that is a method of the value as text.
template <const char* kMethod>
Result<Var> as_method(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto text, soft_str(run, value));
  return find_text_method(kMethod)(run, text, args);
}
constexpr char kUpper[] = "upper", kLower[] = "lower", kCapitalize[] = "capitalize", kStrip[] = "strip";

Result<Var> center(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(auto given, bind("center", args, {"width"}, 0));
  CALKIT_TRY(const auto text, soft_str(run, value));
  Args width;
  width.positional.push_back(given[0].is(Kind::kMissing) ? Var::integer(80) : given[0]);
  return find_text_method("center")(run, text, width);
}

Result<Var> title(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("title", args, {}, 0));
  CALKIT_TRY(const auto text, soft_str(run, value));
  CALKIT_CHECK_OK(run.scan(text.text().size()));
  std::string out, word;
  const auto flush = [&] {
    const std::size_t first = byte_of(word, 1);
    out += to_upper(std::string_view(word).substr(0, first)) + to_lower(std::string_view(word).substr(first));
    word.clear();
  };
  bool separators = false;
  const std::string_view all = text.text();
  for (std::size_t i = 0; i < all.size();) {
    const CodePoint c = code_point_at(all, i);
    const bool separates =
        is_space(c.value) ||
        (c.value < 0x80 && std::string_view("-({[<").find(static_cast<char>(c.value)) != std::string_view::npos);
    if (separates != separators) flush();
    separators = separates;
    word += all.substr(i, c.bytes);
    i += c.bytes;
  }
  flush();
  return run.text(std::move(out));
}

Result<Var> string(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("string", args, {}, 0));
  return soft_str(run, value);
}

Result<Var> safe(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("safe", args, {}, 0));
  CALKIT_TRY(auto text, str(run, value));
  return run.text(std::move(text), true);
}

Result<Var> escape(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("escape", args, {}, 0));
  return markup_of(run, value);
}

Result<Var> force_escape(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("forceescape", args, {}, 0));
  CALKIT_TRY(const auto text, str(run, value));
  return run.text(escape_html(text), true);
}

Result<Var> replace(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(auto given, bind("replace", args, {"old", "new", "count"}, 2));
  Args plain;
  for (std::size_t i = 0; i < 2; ++i) {
    CALKIT_TRY(auto text, str(run, given[i]));
    plain.positional.push_back(Var::text(std::move(text)));
  }
  if (!given[2].is(Kind::kMissing) && !given[2].is(Kind::kNone)) plain.positional.push_back(given[2]);
  CALKIT_TRY(auto text, str(run, value));
  CALKIT_TRY(const auto self, run.text(std::move(text)));
  return find_text_method("replace")(run, self, plain);
}

Result<Var> join(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("join", args, {"d", "attribute"}, 0));
  std::string separator;
  if (!given[0].is(Kind::kMissing)) {
    CALKIT_TRY(separator, str(run, given[0]));
  }
  CALKIT_TRY(const auto walk, iterate(run, value));
  std::string out;
  for (bool first = true;; first = false) {
    CALKIT_TRY(auto item, walk->next());
    if (!item) break;
    CALKIT_CHECK_OK(run.step());
    CALKIT_TRY(const auto part, follow(run, *item, given[1], Var()));
    CALKIT_TRY(const auto text, str(run, part));
    CALKIT_CHECK_OK(run.charge(text.size() + separator.size()));
    if (!first) out += separator;
    out += text;
  }
  return run.text(std::move(out));
}

Result<Var> indent(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("indent", args, {"width", "first", "blank"}, 0));
  if (value.is(Kind::kUndefined)) return need_value(value);
  if (!value.is(Kind::kString)) return fault(fmt::format("indent of a '{}'", type_name(value)));
  std::string by(4, ' ');
  if (given[0].is(Kind::kString)) {
    by = given[0].text();
    if (value.markup() && !given[0].markup()) return fault("indent of escaped text by a text; not supported");
  } else if (!given[0].is(Kind::kMissing)) {
    CALKIT_TRY(const std::int64_t width, want_int(given[0], "indent"));
    CALKIT_CHECK_OK(run.charge(width > 0 ? static_cast<std::uint64_t>(width) : 0));
    by = std::string(width > 0 ? static_cast<std::size_t>(width) : 0, ' ');
  }
  CALKIT_CHECK_OK(run.scan(value.text().size()));
  const std::string text = value.text() + "\n";
  const auto lines = split_lines(text, false);
  std::string out = truth(given[1]) ? by : std::string();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    CALKIT_CHECK_OK(run.charge(by.size()));
    if (i > 0) out += "\n";
    if (i > 0 && (truth(given[2]) || !lines[i].empty())) out += by;
    out += lines[i];
  }
  return run.text(std::move(out), value.markup());
}

Result<Var> wordcount(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("wordcount", args, {}, 0));
  CALKIT_TRY(const auto text, str(run, value));
  std::int64_t out = 0;
  bool inside = false;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    const bool word = c.value == '_' || is_alnum(c.value);
    out += word && !inside ? 1 : 0;
    inside = word;
    i += c.bytes;
  }
  return Var::integer(out);
}

Result<Var> format(Run& run, const Var& value, Args& args) {
  if (!args.positional.empty() && !args.named.empty()) return fault("format: arguments with and without names");
  CALKIT_TRY(const auto text, soft_str(run, value));
  if (args.named.empty()) return percent_format(run, text, Var::tuple(args.positional));
  auto named = std::make_shared<Dict>();
  for (auto& [name, one] : args.named) named->set(Var::text(name), std::move(one));
  return percent_format(run, text, Var::of(Kind::kDict, std::move(named)));
}

Result<Var> to_json(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("tojson", args, {"ensure_ascii", "indent", "separators", "sort_keys"}, 0));
  const auto or_none = [](const Var& v) { return v.is(Kind::kMissing) ? Var::none() : v; };
  CALKIT_TRY(auto text,
             to_json_text(run, value, truth(given[0]), or_none(given[1]), or_none(given[2]), truth(given[3])));
  return run.text(std::move(text));
}

Result<Var> truncate(Run& run, const Var& value, Args& args) {
  CALKIT_TRY(const auto given, bind("truncate", args, {"length", "killwords", "end", "leeway"}, 0));
  if (!value.is(Kind::kString)) return fault(fmt::format("truncate of a '{}'; not supported", type_name(value)));
  std::int64_t length = 255, leeway = 5;
  if (!given[0].is(Kind::kMissing)) {
    CALKIT_TRY(length, want_int(given[0], "truncate"));
  }
  if (!given[3].is(Kind::kMissing) && !given[3].is(Kind::kNone)) {
    CALKIT_TRY(leeway, want_int(given[3], "truncate"));
  }
  std::string end = "...";
  if (!given[2].is(Kind::kMissing)) {
    if (!given[2].is(Kind::kString)) return fault("truncate: an end that is no string");
    end = given[2].text();
  }
  const auto tail = static_cast<std::int64_t>(count_points(end));
  if (length > INT32_MAX) return value;
  if (length < tail || leeway < 0) return fault("truncate: a length shorter than its end, or a leeway below 0");
  if (static_cast<std::int64_t>(value.as_text().length()) <= length + std::min<std::int64_t>(leeway, INT32_MAX))
    return value;
  std::string_view kept(value.text());
  kept = kept.substr(0, byte_of(kept, static_cast<std::size_t>(length - tail)));
  if (!truth(given[1])) kept = kept.substr(0, kept.rfind(' '));
  return run.text(std::string(kept) + (value.markup() && !given[2].markup() ? escape_html(end) : end), value.markup());
}

constexpr Named kTable[] = {
    {"capitalize", as_method<kCapitalize>},
    {"center", center},
    {"e", escape},
    {"escape", escape},
    {"forceescape", force_escape},
    {"format", format},
    {"indent", indent},
    {"join", join},
    {"lower", as_method<kLower>},
    {"replace", replace},
    {"safe", safe},
    {"string", string},
    {"title", title},
    {"tojson", to_json},
    {"trim", as_method<kStrip>},
    {"truncate", truncate},
    {"upper", as_method<kUpper>},
    {"wordcount", wordcount},
};

}  // namespace

const std::pair<const Named*, std::size_t> kTextFilters{kTable, std::size(kTable)};

}  // namespace calkit::jinja
