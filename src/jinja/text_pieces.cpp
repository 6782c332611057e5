// Strings in pieces: split, partition, join.
#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/unicode.h"
#include "text_methods.h"
#include "unicode.h"

namespace calkit::jinja {
namespace {

using Texts = std::vector<std::string_view>;

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

}  // namespace

const TextMethods& cutting_methods() {
  static const TextMethods table = {
      {"join", join},          {"partition", partition<false>}, {"rpartition", partition<true>},
      {"rsplit", split<true>}, {"split", split<false>},         {"splitlines", splitlines},
  };
  return table;
}

}  // namespace calkit::jinja
