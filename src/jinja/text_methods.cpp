#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calkit/base/unicode.h"
#include "ops.h"
#include "unicode.h"

namespace calkit::jinja {
namespace {

using Texts = std::vector<std::string_view>;

Result<Var> made(Run& run, const Var& self, std::string_view text) {
  CALKIT_CHECK_OK(run.scan(text.size()));
  return run.text(std::string(text), self.markup());
}

Result<const std::string*> want_text(const Var& value, const char* what) {
  if (value.is(Kind::kUndefined)) return need_value(value);
  if (!value.is(Kind::kString))
    return fault(fmt::format("{}: a '{}' where a string is needed", what, type_name(value)));
  return &value.text();
}

bool absent(const Var& value) {
  return value.is(Kind::kMissing) || value.is(Kind::kNone);
}

template <bool kLeft, bool kRight>
Result<Var> strip(Run& run, const Var& self, Args& args) {
  CALKIT_TRY(const auto given, bind("strip", args, {"chars"}, 0));
  std::string_view text = self.text();
  if (absent(given[0])) {
    if (kLeft) text = lstrip(text);
    if (kRight) text = rstrip(text);
    return made(run, self, text);
  }
  CALKIT_TRY(const auto* set, want_text(given[0], "strip"));
  CALKIT_CHECK_OK(run.step(text.size() / 64 * set->size()));
  if (kLeft) text = lstrip(text, *set);
  if (kRight) text = rstrip(text, *set);
  return made(run, self, text);
}

// Pieces at white space: at most `most` cuts, from the left or from the right.
Texts split_space(std::string_view text, std::int64_t most, bool right) {
  Texts out;
  text = right ? rstrip(text) : lstrip(text);
  while (!text.empty() && (most < 0 || static_cast<std::int64_t>(out.size()) < most)) {
    std::size_t at = right ? text.size() : 0;
    if (right) {
      std::size_t begin = at;
      while (begin > 0) {
        std::size_t one = begin - 1;
        while (one > 0 && (static_cast<unsigned char>(text[one]) & 0xC0) == 0x80) --one;
        if (is_space(code_point_at(text, one).value)) break;
        begin = one;
      }
      out.push_back(text.substr(begin));
      text = rstrip(text.substr(0, begin));
    } else {
      while (at < text.size() && !is_space(code_point_at(text, at).value)) at += code_point_at(text, at).bytes;
      out.push_back(text.substr(0, at));
      text = lstrip(text.substr(at));
    }
  }
  if (!text.empty()) out.push_back(right ? rstrip(text) : text);
  return out;
}

Texts split_at(std::string_view text, std::string_view separator, std::int64_t most, bool right) {
  Texts out;
  while (right && (most < 0 || static_cast<std::int64_t>(out.size()) < most)) {
    const std::size_t at = text.rfind(separator);
    if (at == std::string_view::npos) break;
    out.push_back(text.substr(at + separator.size()));
    text = text.substr(0, at);
  }
  while (!right && (most < 0 || static_cast<std::int64_t>(out.size()) < most)) {
    const std::size_t at = find_text(text, separator, 0);
    if (at == std::string_view::npos) break;
    out.push_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  out.push_back(text);
  return out;
}

Result<Var> texts(Run& run, const Var& self, const Texts& parts) {
  std::vector<Var> out;
  out.reserve(parts.size());
  for (const std::string_view part : parts) {
    CALKIT_TRY(auto one, run.text(std::string(part), self.markup()));
    out.push_back(std::move(one));
  }
  return run.list(std::move(out));
}

template <bool kRight>
Result<Var> split(Run& run, const Var& self, Args& args) {
  CALKIT_TRY(const auto given, bind("split", args, {"sep", "maxsplit"}, 0));
  std::int64_t most = -1;
  if (!given[1].is(Kind::kMissing)) {
    CALKIT_TRY(most, want_int(given[1], "split"));
  }
  CALKIT_CHECK_OK(run.scan(self.text().size()));
  Texts parts;
  if (absent(given[0])) {
    parts = split_space(self.text(), most, kRight);
  } else {
    CALKIT_TRY(const auto* separator, want_text(given[0], "split"));
    if (separator->empty()) return fault("split: an empty separator");
    // Searching backwards compares at every place.
    if (kRight) CALKIT_CHECK_OK(run.step(self.text().size() / 64 * std::min(separator->size(), self.text().size())));
    parts = split_at(self.text(), *separator, most, kRight);
  }
  if (kRight) std::reverse(parts.begin(), parts.end());
  CALKIT_CHECK_OK(run.step(parts.size()));
  return texts(run, self, parts);
}

Result<Var> splitlines(Run& run, const Var& self, Args& args) {
  CALKIT_TRY(const auto given, bind("splitlines", args, {"keepends"}, 0));
  CALKIT_CHECK_OK(run.scan(self.text().size()));
  return texts(run, self, split_lines(self.text(), truth(given[0])));
}

template <bool kEnd>
Result<Var> edge(Run& run, const Var& self, Args& args) {
  CALKIT_TRY(const auto given, bind(kEnd ? "endswith" : "startswith", args, {"text", "start", "end"}, 1));
  std::string_view text = self.text();
  if (!given[1].is(Kind::kMissing)) {
    CALKIT_TRY(const auto part,
               slice(run, self, given[1], given[2].is(Kind::kMissing) ? Var::none() : given[2], Var::none()));
    return kEnd ? edge<true>(run, part, (args = Args{{given[0]}, {}}))
                : edge<false>(run, part, (args = Args{{given[0]}, {}}));
  }
  const auto matches = [&](const std::string& what) { return kEnd ? text.ends_with(what) : text.starts_with(what); };
  if (!given[0].is(Kind::kTuple)) {
    CALKIT_TRY(const auto* what, want_text(given[0], kEnd ? "endswith" : "startswith"));
    CALKIT_CHECK_OK(run.scan(what->size()));
    return Var::boolean(matches(*what));
  }
  for (const Var& one : given[0].items()) {
    CALKIT_TRY(const auto* what, want_text(one, kEnd ? "endswith" : "startswith"));
    CALKIT_CHECK_OK(run.scan(what->size()));
    if (matches(*what)) return Var::boolean(true);
  }
  return Var::boolean(false);
}

Result<Var> replace(Run& run, const Var& self, Args& args) {
  CALKIT_TRY(const auto given, bind("replace", args, {"old", "new", "count"}, 2));
  CALKIT_TRY(const auto* old, want_text(given[0], "replace"));
  CALKIT_TRY(const auto* with_text, want_text(given[1], "replace"));
  std::string with = self.markup() && !given[1].markup() ? escape_html(*with_text) : *with_text;
  std::int64_t most = -1;
  if (!given[2].is(Kind::kMissing)) {
    CALKIT_TRY(most, want_int(given[2], "replace"));
  }
  const std::string& text = self.text();
  CALKIT_CHECK_OK(run.scan(text.size()));
  std::string out;
  std::size_t from = 0;
  for (std::int64_t done = 0; most < 0 || done < most; ++done) {
    std::size_t at = from;
    if (old->empty()) {
      // Between all characters, and at both ends.
      if (done > 0) {
        if (from >= text.size()) break;
        at = from + code_point_at(text, from).bytes;
      }
    } else {
      at = find_text(text, *old, from);
      if (at == std::string::npos) break;
    }
    CALKIT_CHECK_OK(run.charge(with.size()));
    CALKIT_CHECK_OK(run.step());
    out += text.substr(from, at - from);
    out += with;
    from = at + old->size();
  }
  out += text.substr(std::min(from, text.size()));
  return made(run, self, out);
}

Result<Var> join(Run& run, const Var& self, Args& args) {
  CALKIT_TRY(const auto given, bind("join", args, {"iterable"}, 1));
  CALKIT_TRY(const auto items, collect(run, given[0]));
  std::string out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    CALKIT_CHECK_OK(run.charge(self.text().size()));
    if (i > 0) out += self.text();
    if (self.markup()) {
      CALKIT_TRY(const auto escaped, markup_of(run, items[i]));
      out += escaped.text();
      continue;
    }
    if (!items[i].is(Kind::kString))
      return fault(fmt::format("join: a '{}' where a string is needed", type_name(items[i])));
    CALKIT_CHECK_OK(run.charge(items[i].text().size()));
    out += items[i].text();
  }
  return made(run, self, out);
}

// Searches inside [start, end) and counts code points; npos if there is none.
template <bool kFromRight>
Result<std::int64_t> search(Run& run, const Var& self, Args& args, const char* what) {
  CALKIT_TRY(const auto given, bind(what, args, {"sub", "start", "end"}, 1));
  CALKIT_TRY(const auto* sub, want_text(given[0], what));
  const auto length = static_cast<std::int64_t>(self.as_text().length());
  std::int64_t bounds[2] = {0, length};
  for (std::size_t i = 0; i < 2; ++i) {
    if (absent(given[i + 1])) continue;
    CALKIT_TRY(bounds[i], want_int(given[i + 1], what));
    if (bounds[i] < 0) bounds[i] = std::max<std::int64_t>(0, bounds[i] + length);
    if (i == 1) bounds[i] = std::min(bounds[i], length);
  }
  if (bounds[0] > bounds[1]) return -1;
  const std::string_view text = self.text();
  CALKIT_CHECK_OK(run.scan(text.size()));
  const std::size_t begin = byte_of(text, static_cast<std::size_t>(bounds[0]));
  const std::string_view part = text.substr(begin, byte_of(text, static_cast<std::size_t>(bounds[1])) - begin);
  if (kFromRight) CALKIT_CHECK_OK(run.step(part.size() / 64 * std::min(sub->size(), part.size())));
  const std::size_t at = kFromRight ? part.rfind(*sub) : find_text(part, *sub, 0);
  if (at == std::string_view::npos) return -1;
  return bounds[0] + static_cast<std::int64_t>(count_points(part.substr(0, at)));
}

template <bool kFromRight, bool kMustExist>
Result<Var> find(Run& run, const Var& self, Args& args) {
  CALKIT_TRY(const std::int64_t at, search<kFromRight>(run, self, args, kMustExist ? "index" : "find"));
  if (at < 0 && kMustExist) return fault("index: the text is not in the string");
  return Var::integer(at);
}

Result<Var> count(Run& run, const Var& self, Args& args) {
  CALKIT_TRY(const auto given, bind("count", args, {"sub", "start", "end"}, 1));
  CALKIT_TRY(const auto* sub, want_text(given[0], "count"));
  Var part = self;
  if (!given[1].is(Kind::kMissing)) {
    CALKIT_TRY(part, slice(run, self, given[1], given[2].is(Kind::kMissing) ? Var::none() : given[2], Var::none()));
  }
  if (sub->empty()) return Var::integer(static_cast<std::int64_t>(part.as_text().length()) + 1);
  CALKIT_CHECK_OK(run.scan(part.text().size()));
  std::int64_t out = 0;
  for (std::size_t at = find_text(part.text(), *sub, 0); at != std::string::npos;
       at = find_text(part.text(), *sub, at + sub->size()))
    ++out;
  return Var::integer(out);
}

template <bool kRight>
Result<Var> partition(Run& run, const Var& self, Args& args) {
  CALKIT_TRY(const auto given, bind("partition", args, {"sep"}, 1));
  CALKIT_TRY(const auto* separator, want_text(given[0], "partition"));
  if (separator->empty()) return fault("partition: an empty separator");
  const std::string_view text = self.text();
  CALKIT_CHECK_OK(run.scan(text.size()));
  if (kRight) CALKIT_CHECK_OK(run.step(text.size() / 64 * std::min(separator->size(), text.size())));
  const std::size_t at = kRight ? text.rfind(*separator) : find_text(text, *separator, 0);
  std::string_view parts[3] = {text, {}, {}};
  if (at != std::string_view::npos) {
    parts[0] = text.substr(0, at);
    parts[1] = *separator;
    parts[2] = text.substr(at + separator->size());
  } else if (kRight) {
    std::swap(parts[0], parts[2]);
  }
  std::vector<Var> out;
  for (const std::string_view part : parts) {
    CALKIT_TRY(auto one, made(run, self, part));
    out.push_back(std::move(one));
  }
  return run.tuple(std::move(out));
}

template <std::string (*kMap)(std::string_view)>
Result<Var> mapped(Run& run, const Var& self, Args& args) {
  CALKIT_TRY(const auto given, bind("the method", args, {}, 0));
  CALKIT_CHECK_OK(run.scan(self.text().size()));
  return made(run, self, kMap(self.text()));
}

std::string swap_case(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    const std::string_view one = text.substr(i, c.bytes);
    out += is_upper(c.value) ? to_lower(one) : is_lower(c.value) ? to_upper(one) : std::string(one);
    i += c.bytes;
  }
  return out;
}

// islower and the like: at least one character, and all of them.
template <bool (*kTest)(char32_t), bool kEmpty = false>
Result<Var> all(Run& run, const Var& self, Args& args) {
  CALKIT_TRY(const auto given, bind("the method", args, {}, 0));
  const std::string& text = self.text();
  CALKIT_CHECK_OK(run.scan(text.size()));
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    if (!kTest(c.value)) return Var::boolean(false);
    i += c.bytes;
  }
  return Var::boolean(kEmpty || !text.empty());
}
bool is_ascii(char32_t c) {
  return c < 0x80;
}

template <bool kUpper>
Result<Var> one_case(Run& run, const Var& self, Args& args) {
  CALKIT_TRY(const auto given, bind("the method", args, {}, 0));
  const std::string& text = self.text();
  CALKIT_CHECK_OK(run.scan(text.size()));
  bool any = false;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    if (is_title(c.value) || (kUpper ? is_lower(c.value) : is_upper(c.value))) return Var::boolean(false);
    any |= is_cased(c.value);
    i += c.bytes;
  }
  return Var::boolean(any);
}

Result<Var> istitle(Run& run, const Var& self, Args& args) {
  CALKIT_TRY(const auto given, bind("istitle", args, {}, 0));
  const std::string& text = self.text();
  CALKIT_CHECK_OK(run.scan(text.size()));
  bool any = false, inside = false;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    const bool upper = is_upper(c.value) || is_title(c.value);
    if ((upper && inside) || (is_lower(c.value) && !inside)) return Var::boolean(false);
    inside = upper || is_lower(c.value);
    any |= inside;
    i += c.bytes;
  }
  return Var::boolean(any);
}

enum class Pad : std::uint8_t { kLeft, kRight, kCenter };
template <Pad kPad>
Result<Var> pad(Run& run, const Var& self, Args& args) {
  CALKIT_TRY(const auto given, bind("the method", args, {"width", "fillchar"}, 1));
  CALKIT_TRY(const std::int64_t width, want_int(given[0], "width"));
  std::string fill = " ";
  if (!given[1].is(Kind::kMissing)) {
    CALKIT_TRY(const auto* text, want_text(given[1], "fillchar"));
    fill = *text;
  }
  if (count_points(fill) != 1) return fault("the fill character must be one character");
  const auto length = static_cast<std::int64_t>(self.as_text().length());
  if (width <= length) return made(run, self, self.text());
  const auto room = static_cast<std::uint64_t>(width - length);
  CALKIT_CHECK_OK(run.charge(room * (room < UINT32_MAX ? fill.size() : 1)));
  CALKIT_CHECK_OK(run.scan(room * fill.size()));
  const std::uint64_t odd = room & static_cast<std::uint64_t>(width) & 1;
  const std::uint64_t left = kPad == Pad::kLeft ? 0 : kPad == Pad::kRight ? room : room / 2 + odd;
  std::string out;
  for (std::uint64_t i = 0; i < left; ++i) out += fill;
  out += self.text();
  for (std::uint64_t i = left; i < room; ++i) out += fill;
  return made(run, self, out);
}

Result<Var> zfill(Run& run, const Var& self, Args& args) {
  CALKIT_TRY(const auto given, bind("zfill", args, {"width"}, 1));
  CALKIT_TRY(const std::int64_t width, want_int(given[0], "zfill"));
  const auto length = static_cast<std::int64_t>(self.as_text().length());
  if (width <= length) return made(run, self, self.text());
  CALKIT_CHECK_OK(run.charge(static_cast<std::uint64_t>(width - length)));
  const std::string& text = self.text();
  const std::size_t sign = !text.empty() && (text[0] == '+' || text[0] == '-') ? 1 : 0;
  return made(run, self,
              text.substr(0, sign) + std::string(static_cast<std::size_t>(width - length), '0') + text.substr(sign));
}

template <bool kEnd>
Result<Var> remove_edge(Run& run, const Var& self, Args& args) {
  CALKIT_TRY(const auto given, bind("the method", args, {"text"}, 1));
  CALKIT_TRY(const auto* what, want_text(given[0], "the method"));
  std::string_view text = self.text();
  if (kEnd ? text.ends_with(*what) : text.starts_with(*what))
    text = kEnd ? text.substr(0, text.size() - what->size()) : text.substr(what->size());
  return made(run, self, text);
}

Result<Var> format(Run& run, const Var& self, Args& args) {
  return brace_format(run, self, args);
}

const std::map<std::string, Builtin, std::less<>>& methods() {
  static const std::map<std::string, Builtin, std::less<>> table = {
      {"capitalize", mapped<to_capitalized>},
      {"center", pad<Pad::kCenter>},
      {"count", count},
      {"endswith", edge<true>},
      {"find", find<false, false>},
      {"format", format},
      {"index", find<false, true>},
      {"isalnum", all<is_alnum>},
      {"isalpha", all<is_alpha>},
      {"isascii", all<is_ascii, true>},
      {"isdecimal", all<is_decimal>},
      {"isdigit", all<is_digit>},
      {"islower", one_case<false>},
      {"isnumeric", all<is_numeric>},
      {"isprintable", all<is_printable, true>},
      {"isspace", all<is_space>},
      {"istitle", istitle},
      {"isupper", one_case<true>},
      {"join", join},
      {"ljust", pad<Pad::kLeft>},
      {"lower", mapped<to_lower>},
      {"lstrip", strip<true, false>},
      {"partition", partition<false>},
      {"removeprefix", remove_edge<false>},
      {"removesuffix", remove_edge<true>},
      {"replace", replace},
      {"rfind", find<true, false>},
      {"rindex", find<true, true>},
      {"rjust", pad<Pad::kRight>},
      {"rpartition", partition<true>},
      {"rsplit", split<true>},
      {"rstrip", strip<false, true>},
      {"split", split<false>},
      {"splitlines", splitlines},
      {"startswith", edge<false>},
      {"strip", strip<true, true>},
      {"swapcase", mapped<swap_case>},
      {"title", mapped<to_title>},
      {"upper", mapped<to_upper>},
      {"zfill", zfill},
  };
  return table;
}

}  // namespace

Builtin find_text_method(const std::string& name) {
  const auto found = methods().find(name);
  return found == methods().end() ? nullptr : found->second;
}

bool lacks_text_method(const std::string& name) {
  for (const char* known : {"casefold", "encode", "expandtabs", "format_map", "isidentifier", "maketrans", "translate"})
    if (name == known) return true;
  return false;
}

}  // namespace calkit::jinja
