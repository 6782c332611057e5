#include "tree_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/text.h"

namespace calkit {
namespace {

/// Two members of one key, or nullptr. Sorting keeps hostile keys from costing more than n log n.
std::pair<const Value::Member*, const Value::Member*> find_repeated_key(const Value::Object& members) {
  constexpr std::size_t kFew = 16;
  if (members.size() <= kFew) {
    for (std::size_t i = 1; i < members.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (members[i].first == members[j].first) return {&members[j], &members[i]};
      }
    }
    return {};
  }
  std::vector<const Value::Member*> sorted;
  sorted.reserve(members.size());
  for (const Value::Member& member : members) sorted.push_back(&member);
  std::sort(sorted.begin(), sorted.end(), [](const Value::Member* a, const Value::Member* b) {
    const int order = a->first.compare(b->first);
    return order != 0 ? order < 0 : a < b;
  });
  const auto twin =
      std::adjacent_find(sorted.begin(), sorted.end(),
                         [](const Value::Member* a, const Value::Member* b) { return a->first == b->first; });
  if (twin == sorted.end()) return {};
  return {*twin, *(twin + 1)};
}

}  // namespace

std::string at_line(std::string_view file, std::uint32_t line) {
  return fmt::format("{}:{}", file, line);
}

Error read_error(ReadProblem problem, std::string_view file, std::string_view found, std::string_view allowed,
                 std::string hint) {
  Error error = input_error(file, {}, found, allowed, std::move(hint));
  error.read_problem = problem;
  return error;
}

bool TreeBuilder::count_entry(Position at) {
  if (++entries_ <= limits_.max_entries) return true;
  return refuse(ReadProblem::kLimit, at, fmt::format("more than {} values", limits_.max_entries),
                fmt::format("at most {} values", limits_.max_entries));
}

bool TreeBuilder::check_length(const std::string& text, Position at) {
  if (text.size() <= limits_.max_string) return true;
  return refuse(ReadProblem::kLimit, at, fmt::format("a string of {} bytes", text.size()),
                fmt::format("at most {} bytes in a string", limits_.max_string));
}

bool TreeBuilder::scalar(Value value, Position at) {
  if (!count_entry(at)) return false;
  if (const std::string* text = value.if_string(); text && !check_length(*text, at)) return false;
  return place(std::move(value), at) != nullptr;
}

bool TreeBuilder::key(std::string name, Position at) {
  if (!check_length(name, at)) return false;
  pending_key_ = std::move(name);
  return true;
}

bool TreeBuilder::begin(Value container, Position at) {
  if (open_.size() >= limits_.max_depth)
    return refuse(ReadProblem::kLimit, at, fmt::format("nesting deeper than {}", limits_.max_depth),
                  fmt::format("at most {} levels", limits_.max_depth));
  if (!count_entry(at)) return false;
  Value* placed = place(std::move(container), at);
  open_.push_back(placed);
  return true;
}

bool TreeBuilder::end() {
  const Value* closed = open_.back();
  open_.pop_back();
  const Value::Object* members = closed->if_object();
  if (!members) return true;
  const auto [first, second] = find_repeated_key(*members);
  if (!first) return true;
  return refuse(ReadProblem::kDuplicateKey, Position{second->second.line, 1},
                fmt::format("key {} given twice (lines {} and {})", Value(first->first).describe(), first->second.line,
                            second->second.line),
                "each key once");
}

Value* TreeBuilder::place(Value value, Position at) {
  value.line = at.line;
  value.column = at.column;
  if (open_.empty()) {
    root_ = std::move(value);
    return &root_;
  }
  Value& parent = *open_.back();
  if (Value::Object* members = parent.if_object()) {
    if (members->empty()) members->reserve(8);  // most objects of our documents have so many members
    members->emplace_back(std::move(*pending_key_), std::move(value));
    pending_key_.reset();
    return &members->back().second;
  }
  Value::Array& items = *parent.if_array();
  items.push_back(std::move(value));
  return &items.back();
}

Result<std::string_view> check_text(std::string_view text, std::string_view file, const ReadLimits& limits) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.size() > limits.max_bytes)
    return read_error(ReadProblem::kLimit, file, fmt::format("{} bytes", text.size()),
                      fmt::format("at most {} bytes", limits.max_bytes));
  if (text.starts_with(kMark) && limits.byte_order_mark) text.remove_prefix(kMark.size());
  if (text.starts_with(kMark))
    return read_error(ReadProblem::kEncoding, at_line(file, 1), "a byte order mark", "UTF-8 without one",
                      "save the file without a BOM");
  std::size_t bad = text.find('\0');
  std::string found = "a NUL byte";
  if (bad == std::string_view::npos) {
    bad = invalid_utf8_at(text);
    if (bad == std::string_view::npos) return text;
    found =
        fmt::format("the byte {:#04x}, which is not UTF-8, at offset {}", static_cast<unsigned char>(text[bad]), bad);
  }
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(bad), '\n');
  return read_error(ReadProblem::kEncoding, at_line(file, static_cast<std::uint32_t>(line)), found, "UTF-8 text");
}

}  // namespace calkit
