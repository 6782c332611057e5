// What lies in a string: find, count, startswith, replace.
#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/unicode.h"
#include "text_methods.h"
#include "unicode.h"

namespace calkit::jinja {
namespace {

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

}  // namespace

const TextMethods& searching_methods() {
  static const TextMethods table = {
      {"count", count},     {"endswith", edge<true>},     {"find", find<false, false>}, {"index", find<false, true>},
      {"replace", replace}, {"rfind", find<true, false>}, {"rindex", find<true, true>}, {"startswith", edge<false>},
  };
  return table;
}

}  // namespace calkit::jinja
