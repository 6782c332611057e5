// Strings in another shape: case, padding, edges; and the table of all their methods.
#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/unicode.h"
#include "text_methods.h"
#include "unicode.h"

namespace calkit::jinja {

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

namespace {

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

const TextMethods& shaping_methods() {
  static const TextMethods table = {
      {"capitalize", mapped<to_capitalized>},
      {"center", pad<Pad::kCenter>},
      {"format", format},
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
      {"ljust", pad<Pad::kLeft>},
      {"lower", mapped<to_lower>},
      {"lstrip", strip<true, false>},
      {"removeprefix", remove_edge<false>},
      {"removesuffix", remove_edge<true>},
      {"rjust", pad<Pad::kRight>},
      {"rstrip", strip<false, true>},
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
  for (const TextMethods* methods : {&shaping_methods(), &cutting_methods(), &searching_methods()})
    if (const auto found = methods->find(name); found != methods->end()) return found->second;
  return nullptr;
}

bool lacks_text_method(const std::string& name) {
  for (const char* known : {"casefold", "encode", "expandtabs", "format_map", "isidentifier", "maketrans", "translate"})
    if (name == known) return true;
  return false;
}

}  // namespace calkit::jinja
