#include "filters.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "parser.h"
#include "unicode.h"

namespace calkit::jinja {
namespace {

Result<Var> one_step(Run& run, const Var& value, std::string_view part) {
  std::int64_t index = 0;
  const bool digits = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
  if (!digits) return item_of(run, value, Var::text(std::string(part)));
  if (std::from_chars(part.data(), part.data() + part.size(), index).ec != std::errc())
    return fault("an index beyond 64 bits; not supported");
  return item_of(run, value, Var::integer(index));
}

// Merge sort, so that a comparison that fails can end it.
Status merge_sort(Run& run, const std::vector<Var>& keys, std::vector<std::size_t>& order, bool reverse) {
  std::vector<std::size_t> other(order.size());
  for (std::size_t width = 1; width < order.size(); width *= 2) {
    for (std::size_t begin = 0; begin < order.size(); begin += 2 * width) {
      const std::size_t middle = std::min(begin + width, order.size());
      const std::size_t end = std::min(begin + 2 * width, order.size());
      std::size_t left = begin, right = middle;
      for (std::size_t to = begin; to < end; ++to) {
        bool from_right = left == middle;
        if (left < middle && right < end) {
          const Var& a = keys[order[left]];
          const Var& b = keys[order[right]];
          CALKIT_TRY(from_right, reverse ? less(run, a, b) : less(run, b, a));
        }
        other[to] = order[from_right ? right++ : left++];
      }
    }
    order.swap(other);
  }
  return {};
}

}  // namespace

Result<Var> follow(Run& run, const Var& value, const Var& path, const Var& fallback) {
  if (path.is(Kind::kMissing) || path.is(Kind::kNone)) return value;
  const bool has_other = !fallback.is(Kind::kMissing) && !fallback.is(Kind::kNone);
  if (!path.is(Kind::kString)) {
    CALKIT_TRY(auto out, item_of(run, value, path));
    return has_other && out.is(Kind::kUndefined) ? fallback : out;
  }
  Var at = value;
  std::string_view rest = path.text();
  while (true) {
    CALKIT_CHECK_OK(run.step());
    const std::size_t dot = rest.find('.');
    CALKIT_TRY(at, one_step(run, at, rest.substr(0, dot)));
    if (has_other && at.is(Kind::kUndefined)) at = fallback;
    if (dot == std::string_view::npos) return at;
    rest.remove_prefix(dot + 1);
  }
}

Result<Var> ignoring_case(Run& run, const Var& value) {
  if (!value.is(Kind::kString)) return value;
  CALKIT_CHECK_OK(run.scan(value.text().size()));
  return run.text(to_lower(value.text()));
}

Result<std::vector<Var>> sorted(Run& run, std::vector<Var> items, std::vector<Var> keys, bool reverse) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  CALKIT_CHECK_OK(merge_sort(run, keys, order, reverse));
  std::vector<Var> out;
  out.reserve(items.size());
  for (const std::size_t i : order) out.push_back(std::move(items[i]));
  return out;
}

Builtin find_filter(const std::string& name) {
  for (const auto& [table, size] : {kTextFilters, kSequenceFilters, kNumberFilters})
    for (std::size_t i = 0; i < size; ++i)
      if (name == table[i].name) return table[i].call;
  return nullptr;
}

bool has_filter(const std::string& name) {
  return find_filter(name) != nullptr;
}

std::string missing_filter(const std::string& name) {
  for (const char* known :
       {"pprint", "random", "striptags", "urlencode", "urlize", "wordwrap", "xmlattr", "filesizeformat"})
    if (name == known) return fmt::format("the filter '{}'; not supported", name);
  return fmt::format("no filter named '{}'", name);
}

}  // namespace calkit::jinja
