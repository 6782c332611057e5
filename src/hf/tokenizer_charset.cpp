#include "tokenizer_charset.h"

#include <fmt/format.h>

#include <algorithm>

namespace calkit::hf {
namespace {

constexpr char32_t kLast = 0x10ffff, kFirstSurrogate = 0xd800, kLastSurrogate = 0xdfff;

CharSet named(std::string_view name) {
  CharSet set;
  for (const CodeRange& range : unicode_ranges(name)) set.add(range.first, range.last);
  return set;
}

}  // namespace

std::vector<CodeRange> CharSet::merged() const {
  std::vector<CodeRange> sorted = ranges_;
  std::sort(sorted.begin(), sorted.end(), [](const CodeRange& a, const CodeRange& b) { return a.first < b.first; });
  std::vector<CodeRange> out;
  for (const CodeRange& range : sorted) {
    if (!out.empty() && range.first <= out.back().last + 1)
      out.back().last = std::max(out.back().last, range.last);
    else
      out.push_back(range);
  }
  return out;
}

CharSet CharSet::complement() const {
  CharSet out;
  const auto add_without_surrogates = [&](char32_t first, char32_t last) {
    if (first < kFirstSurrogate && last >= first) out.add(first, std::min<char32_t>(last, kFirstSurrogate - 1));
    if (last > kLastSurrogate) out.add(std::max<char32_t>(first, kLastSurrogate + 1), last);
  };
  char32_t next = 0;
  for (const CodeRange& range : merged()) {
    if (range.first > next) add_without_surrogates(next, range.first - 1);
    next = range.last + 1;
  }
  if (next <= kLast) add_without_surrogates(next, kLast);
  return out;
}

bool CharSet::ascii_only() const {
  return std::all_of(ranges_.begin(), ranges_.end(), [](const CodeRange& range) { return range.last < 0x80; });
}

std::string CharSet::pcre(bool negated) const {
  std::string out = negated ? "[^" : "[";
  for (const CodeRange& range : merged()) {
    const auto first = static_cast<std::uint32_t>(range.first), last = static_cast<std::uint32_t>(range.last);
    out += first == last ? fmt::format("\\x{{{:x}}}", first) : fmt::format("\\x{{{:x}}}-\\x{{{:x}}}", first, last);
  }
  return out + "]";
}

std::optional<CharSet> property_set(std::string_view name) {
  if (!name.empty() && name[0] >= 'a') return std::nullopt;  // tables of ours, not of Unicode
  if (name.size() == 1) {
    // A category of one letter is the union of its parts; C would hold the unassigned, of which there is no table.
    constexpr std::string_view kParts[] = {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd",
                                           "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp"};
    CharSet all;
    for (const std::string_view part : kParts)
      if (part[0] == name[0]) all.add(named(part));
    return all.empty() ? std::nullopt : std::optional(all);
  }
  CharSet set = named(name);
  return set.empty() ? std::nullopt : std::optional(set);
}

std::optional<CharSet> shorthand_set(char letter) {
  switch (letter) {
    case 's':
      return named("space");
    case 'S':
      return named("space").complement();
    case 'd':
      return named("Nd");
    case 'D':
      return named("Nd").complement();
    case 'w':
      return named("word");
    case 'W':
      return named("word").complement();
    default:
      return std::nullopt;
  }
}

}  // namespace calkit::hf
