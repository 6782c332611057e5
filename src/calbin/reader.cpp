#include "reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "calkit/base/json_pointer.h"
#include "calkit/base/text.h"

namespace calkit::calbin {

namespace {

constexpr std::size_t kMaxRank = 16;
constexpr std::int64_t kMaxChip = 63;  // masks have 64 bits

std::string bounds_text(std::int64_t min, std::int64_t max) {
  if (max == static_cast<std::int64_t>(kMaxPlainInteger)) return fmt::format("an integer from {} to 2^53-1", min);
  return fmt::format("an integer from {} to {}", min, max);
}

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); });
}

bool is_utc_time(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:ddZ";
  if (text.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == 'd' ? !digit : text[i] != kForm[i]) return false;
  }
  const auto number = [&](std::size_t at) { return (text[at] - '0') * 10 + (text[at + 1] - '0'); };
  const int year = number(0) * 100 + number(2), month = number(5), day = number(8);
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  return date.ok() && number(11) < 24 && number(14) < 60 && number(17) <= 60;
}

}  // namespace

std::string Node::pointer() const {
  if (parent == nullptr) return std::string(key);
  const std::string step =
      parent->value != nullptr && parent->value->is_array() ? std::to_string(index) : pointer_step(key);
  return parent->pointer() + "/" + step;
}

std::uint32_t Node::line() const {
  if (value != nullptr && value->line != 0) return value->line;
  return parent != nullptr ? parent->line() : 0;
}

Node Reader::member(const Node& parent, std::string_view key) {
  return {parent.value != nullptr ? parent.value->find(key) : nullptr, &parent, key};
}

void Reader::problem(ProblemKind kind, const Node& node, std::string found, std::string allowed, std::string hint,
                     bool understood) {
  problems_.push_back(
      {kind, node.pointer(), node.line(), std::move(found), std::move(allowed), std::move(hint), understood});
}

bool Reader::wanted(const Node& node, Need need) {
  if (node.present()) return true;
  if (need == Need::kRequired) {
    // A parent that is no object has been reported already; its fields are not missing one by one.
    const bool parent_read =
        node.parent == nullptr || (node.parent->value != nullptr && node.parent->value->is_object());
    if (parent_read)
      problem(ProblemKind::kMissing, node, node.value == nullptr ? "nothing" : "null",
              "a value: the field is required");
  }
  return false;
}

std::optional<Node> Reader::object(const Node& parent, std::string_view key, Need need) {
  const Node node = member(parent, key);
  if (!wanted(node, need)) return std::nullopt;
  if (!node.value->is_object()) {
    problem(ProblemKind::kWrongType, node, node.value->describe(), "an object");
    return std::nullopt;
  }
  return node;
}

void Reader::objects(const Node& parent, std::string_view key, const std::function<void(const Node&)>& read,
                     Need need) {
  const Node list = member(parent, key);
  if (!wanted(list, need)) return;
  const auto* items = list.value->if_array();
  if (items == nullptr) return problem(ProblemKind::kWrongType, list, list.value->describe(), "an array of objects");
  for (std::size_t i = 0; i < items->size(); ++i) {
    const Node item{&(*items)[i], &list, {}, i};
    if (!item.value->is_object()) problem(ProblemKind::kWrongType, item, item.value->describe(), "an object");
    read(item);
  }
}

void Reader::only(const Node& node, std::initializer_list<std::string_view> keys) {
  const auto* members = node.value != nullptr ? node.value->if_object() : nullptr;
  if (members == nullptr) return;
  for (const auto& [key, value] : *members) {
    if (key.starts_with("x-") || std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    const std::string near = nearest_word(key, std::vector<std::string>(keys.begin(), keys.end()));
    problem(ProblemKind::kUnknownKey, {&value, &node, key}, fmt::format("key '{}'", key),
            near.empty() ? "the fields of docs/formats/calbin.md" : fmt::format("'{}' is the nearest field", near),
            "correct the spelling, or put extra facts under a key that begins with x-");
  }
}

std::string Reader::text(const Node& parent, std::string_view key, Need need) {
  const Node node = member(parent, key);
  if (!wanted(node, need)) return {};
  const auto* text = node.value->if_string();
  if (text == nullptr || (text->empty() && need == Need::kRequired)) {
    problem(ProblemKind::kWrongType, node, node.value->describe(), "a non-empty string");
    return {};
  }
  return *text;
}

std::optional<std::string> Reader::maybe_text(const Node& parent, std::string_view key) {
  const Node node = member(parent, key);
  if (!node.present()) return std::nullopt;
  return text(parent, key);
}

std::optional<std::string> Reader::maybe_time(const Node& parent, std::string_view key) {
  const auto out = maybe_text(parent, key);
  if (!out || out->empty() || is_utc_time(*out)) return out;
  problem(ProblemKind::kWrongType, member(parent, key), fmt::format("'{}'", *out),
          "a time \"YYYY-MM-DDThh:mm:ssZ\" of a day that there is");
  return std::nullopt;
}

std::string Reader::word(const Node& parent, std::string_view key, std::initializer_list<std::string_view> allowed,
                         Need need) {
  const Node node = member(parent, key);
  if (!wanted(node, need)) return {};
  const auto* text = node.value->if_string();
  if (text == nullptr || std::find(allowed.begin(), allowed.end(), *text) == allowed.end()) {
    problem(ProblemKind::kWrongType, node, node.value->describe(), fmt::format("{}", fmt::join(allowed, ", ")));
    return {};
  }
  return *text;
}

std::optional<std::int64_t> Reader::integer_of(const Node& node, std::int64_t min, std::int64_t max) {
  if (!node.value->is_integer()) {
    problem(ProblemKind::kWrongType, node, node.value->describe(), bounds_text(min, max));
    return std::nullopt;
  }
  const auto value = node.value->if_int();
  if (!value || *value < min || *value > max) {
    problem(ProblemKind::kOutOfRange, node, node.value->describe(), bounds_text(min, max));
    return std::nullopt;
  }
  return value;
}

std::int64_t Reader::integer(const Node& parent, std::string_view key, std::int64_t min, std::int64_t max) {
  const Node node = member(parent, key);
  if (!wanted(node, Need::kRequired)) return 0;
  return integer_of(node, min, max).value_or(0);
}

std::optional<std::int64_t> Reader::maybe_integer(const Node& parent, std::string_view key, std::int64_t min,
                                                  std::int64_t max) {
  const Node node = member(parent, key);
  if (!node.present()) return std::nullopt;
  return integer_of(node, min, max);
}

std::optional<std::uint64_t> Reader::size_of(const Node& node) {
  const char* allowed = "an integer of bytes from 0 to 2^53-1";
  if (!node.value->is_integer()) {
    problem(ProblemKind::kWrongType, node, node.value->describe(), allowed);
    return std::nullopt;
  }
  const auto value = node.value->if_uint();
  if (!value) {
    problem(ProblemKind::kOutOfRange, node, node.value->describe(), allowed);
    return std::nullopt;
  }
  if (*value > kMaxPlainInteger)
    problem(ProblemKind::kOutOfRange, node, node.value->describe(), allowed, {}, /*understood=*/true);
  return value;
}

std::uint64_t Reader::size(const Node& parent, std::string_view key, Need need) {
  const Node node = member(parent, key);
  if (!wanted(node, need)) return 0;
  return size_of(node).value_or(0);
}

std::optional<std::uint64_t> Reader::hex_of(const Node& node) {
  const char* allowed = "a string \"0x...\" of at most 64 bits";
  const auto* text = node.value->if_string();
  if (text == nullptr) {
    problem(ProblemKind::kWrongType, node, node.value->describe(), allowed,
            "addresses and masks are hexadecimal strings, so that no reader rounds them");
    return std::nullopt;
  }
  const auto value = parse_hex_u64(*text);
  if (!value) problem(ProblemKind::kOutOfRange, node, node.value->describe(), allowed);
  return value;
}

std::uint64_t Reader::hex(const Node& parent, std::string_view key, Need need) {
  const Node node = member(parent, key);
  if (!wanted(node, need)) return 0;
  return hex_of(node).value_or(0);
}

double Reader::number(const Node& parent, std::string_view key) {
  const Node node = member(parent, key);
  if (!wanted(node, Need::kRequired)) return 0;
  const auto value = node.value->if_number();
  if (!value || !std::isfinite(*value)) {
    problem(ProblemKind::kWrongType, node, node.value->describe(), "a finite number");
    return 0;
  }
  return *value;
}

bool Reader::boolean(const Node& parent, std::string_view key, Need need) {
  const Node node = member(parent, key);
  if (!wanted(node, need)) return false;
  const auto* value = node.value->if_bool();
  if (value == nullptr) problem(ProblemKind::kWrongType, node, node.value->describe(), "true or false");
  return value != nullptr && *value;
}

std::string Reader::digest(const Node& parent, std::string_view key, Need need) {
  const Node node = member(parent, key);
  if (!wanted(node, need)) return {};
  const char* allowed = "\"sha256:\" and 64 lower-case hex digits";
  const auto* text = node.value->if_string();
  if (text == nullptr) {
    problem(ProblemKind::kWrongType, node, node.value->describe(), allowed);
    return {};
  }
  constexpr std::string_view kPrefix = "sha256:";
  const std::string_view hex = text->starts_with(kPrefix) ? std::string_view(*text).substr(kPrefix.size()) : "";
  if (hex.size() != 64 || !is_hex(hex) || hex.find_first_not_of('0') == std::string_view::npos) {
    problem(ProblemKind::kDigest, node, node.value->describe(), allowed, "write the file's own SHA-256");
    return {};
  }
  std::string out(*text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return c >= 'A' && c <= 'F' ? char(c + 32) : c; });
  if (out != *text) problem(ProblemKind::kDigestCase, node, node.value->describe(), allowed, {}, /*understood=*/true);
  return out;
}

DType Reader::dtype(const Node& parent, std::string_view key) {
  const Node node = member(parent, key);
  if (!wanted(node, Need::kRequired)) return DType::kF32;
  const auto* text = node.value->if_string();
  const auto dtype = text != nullptr ? dtype_from_name(*text) : std::nullopt;
  if (!dtype)
    problem(ProblemKind::kWrongType, node, node.value->describe(),
            "f32, f64, f16, bf16, i8, u8, i16, u16, i32, u32, i64, u64, bool");
  return dtype.value_or(DType::kF32);
}

const Value::Array* Reader::items_of(const Node& list, Need need, std::string allowed, std::size_t most) {
  if (!wanted(list, need)) return nullptr;
  const auto* items = list.value->if_array();
  if (items != nullptr && items->size() <= most) return items;
  problem(ProblemKind::kWrongType, list, list.value->describe(), std::move(allowed));
  return nullptr;
}

Shape Reader::shape(const Node& parent, std::string_view key, Need need) {
  const Node list = member(parent, key);
  const auto* items = items_of(list, need, fmt::format("an array of at most {} extents", kMaxRank), kMaxRank);
  if (items == nullptr) return {};
  Shape out;
  for (std::size_t i = 0; i < items->size(); ++i)
    out.push_back(integer_of({&(*items)[i], &list, {}, i}, 0, kMaxPlainInteger).value_or(0));
  return out;
}

std::vector<std::string> Reader::texts(const Node& parent, std::string_view key, Need need) {
  const Node list = member(parent, key);
  const auto* items = items_of(list, need, "an array of strings");
  if (items == nullptr) return {};
  std::vector<std::string> out;
  for (std::size_t i = 0; i < items->size(); ++i) {
    const Node item{&(*items)[i], &list, {}, i};
    const auto* text = item.value->if_string();
    if (text == nullptr) problem(ProblemKind::kWrongType, item, item.value->describe(), "a string");
    out.push_back(text != nullptr ? *text : "");
  }
  return out;
}

std::vector<std::int64_t> Reader::counts(const Node& parent, std::string_view key, Need need) {
  const Node list = member(parent, key);
  const auto* items = items_of(list, need, "an array of integers");
  if (items == nullptr) return {};
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < items->size(); ++i)
    out.push_back(integer_of({&(*items)[i], &list, {}, i}, 1, kMaxPlainInteger).value_or(0));
  return out;
}

std::vector<std::uint64_t> Reader::sizes(const Node& parent, std::string_view key, Need need) {
  const Node list = member(parent, key);
  const auto* items = items_of(list, need, "an array of integers");
  if (items == nullptr) return {};
  std::vector<std::uint64_t> out;
  for (std::size_t i = 0; i < items->size(); ++i) out.push_back(size_of({&(*items)[i], &list, {}, i}).value_or(0));
  return out;
}

std::map<std::string, std::string> Reader::text_map(const Node& parent, std::string_view key, Need need) {
  std::map<std::string, std::string> out;
  const auto node = object(parent, key, need);
  if (!node) return out;
  for (const auto& [name, value] : *node->value->if_object()) {
    const auto* text = value.if_string();
    if (text == nullptr) problem(ProblemKind::kWrongType, {&value, &*node, name}, value.describe(), "a string");
    out[name] = text != nullptr ? *text : "";
  }
  return out;
}

std::map<std::int64_t, std::string> Reader::chip_map(const Node& parent, std::string_view key, Need need) {
  std::map<std::int64_t, std::string> out;
  const auto node = object(parent, key, need);
  if (!node) return out;
  for (const auto& [name, value] : *node->value->if_object()) {
    const Node item{&value, &*node, name};
    const auto chip = parse_decimal_u64(name);
    if (!chip || *chip > kMaxChip || std::to_string(*chip) != name) {
      problem(ProblemKind::kWrongType, item, fmt::format("key '{}'", name), "a chip number from 0 to 63");
      continue;
    }
    const auto* text = value.if_string();
    if (text == nullptr || text->empty()) problem(ProblemKind::kWrongType, item, value.describe(), "the id of a file");
    out[static_cast<std::int64_t>(*chip)] = text != nullptr ? *text : "";
  }
  return out;
}

Error error_of(const Problem& problem, std::string_view file) {
  const std::string where = problem.line != 0 ? fmt::format("{}:{}", file, problem.line) : std::string(file);
  return input_error(where, problem.pointer.empty() ? "/" : problem.pointer, problem.found, problem.allowed,
                     problem.hint);
}

}  // namespace calkit::calbin
