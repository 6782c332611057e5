/// The closed set of parsers, both ways.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "calkit/base/checked.h"
#include "calkit/base/document.h"
#include "calkit/base/text.h"
#include "dialect_parts.h"

namespace calkit::calbin {

namespace {

constexpr std::array<std::pair<std::string_view, Parser>, 17> kParsers{{{"text", Parser::kText},
                                                                        {"raw_text", Parser::kRawText},
                                                                        {"int", Parser::kInt},
                                                                        {"number", Parser::kNumber},
                                                                        {"bool", Parser::kBool},
                                                                        {"hex_u64", Parser::kHexU64},
                                                                        {"u64", Parser::kU64},
                                                                        {"quantity", Parser::kQuantity},
                                                                        {"bitmask_list", Parser::kBitmaskList},
                                                                        {"shape_string", Parser::kShapeString},
                                                                        {"enum", Parser::kEnum},
                                                                        {"semver", Parser::kSemver},
                                                                        {"digest", Parser::kDigest},
                                                                        {"time", Parser::kTime},
                                                                        {"items", Parser::kItems},
                                                                        {"key", Parser::kKey},
                                                                        {"copy", Parser::kCopy}}};

constexpr std::string_view kDigestPrefix = "sha256:";
constexpr std::string_view kScalar = "scalar";

/// A number that was not understood must not pass for one that was: its digits as text.
Value spelling(const Value& raw) {
  return raw.is_integer() || raw.is_double() ? Value(to_json(raw)) : raw;
}

bool all_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

Value scaled(const Mapping& mapping, const Value& raw) {
  if (mapping.scale == 1) return raw;
  const auto count = raw.if_uint();
  const auto product = count ? checked_mul(*count, mapping.scale) : std::nullopt;
  return product ? Value(*product) : spelling(raw);
}

/// The bytes of "16 MiB" under the mapping's own units; fractions ("1.5 GiB") only where a unit has its usual size.
Value quantity(const Mapping& mapping, const Value& raw) {
  if (raw.is_integer() && !mapping.unit_required) return raw;
  const auto* text = raw.if_string();
  if (text == nullptr) return spelling(raw);
  const auto end = std::min(text->find_first_not_of("0123456789."), text->size());
  const auto number = std::string_view(*text).substr(0, end);
  auto unit = std::string_view(*text).substr(end);
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const auto& [name, bytes] : mapping.units) {
    if (name != unit) continue;
    std::optional<std::uint64_t> total;
    if (const auto count = parse_decimal_u64(number); count && std::to_string(*count) == number)
      total = checked_mul(*count, bytes);
    else if (parse_quantity("1 " + name).bytes == bytes)
      total = parse_quantity(*text).bytes;
    return total ? Value(*total) : raw;
  }
  return raw;
}

Value bitmask(const Value& raw) {
  const auto* items = raw.if_array();
  if (items == nullptr) return raw;
  std::uint64_t mask = 0;
  for (const auto& item : *items) {
    const auto bit = item.if_uint();
    if (!bit || *bit > 63) return raw;
    mask |= 1ull << *bit;
  }
  return hex_u64(mask);
}

Value bits(const Value& canonical) {
  const auto* text = canonical.if_string();
  const auto mask = text != nullptr ? parse_hex_u64(*text) : std::nullopt;
  if (!mask) return canonical;
  Value out = Value::array();
  for (std::uint64_t bit = 0; bit < 64; ++bit)
    if ((*mask >> bit & 1) != 0) out.push(bit);
  return out;
}

Value shape(const Value& raw) {
  const auto* text = raw.if_string();
  if (text == nullptr) return raw;
  Value out = Value::array();
  if (*text == kScalar) return out;
  for (const auto& part : split(*text, 'x')) {
    const auto extent = parse_decimal_u64(part);
    if (!extent || std::to_string(*extent) != part) return raw;
    out.push(*extent);
  }
  return out;
}

Value shape_text(const Value& canonical) {
  const auto* items = canonical.if_array();
  if (items == nullptr) return canonical;
  if (items->empty()) return kScalar;
  std::string out;
  for (const auto& item : *items) {
    const auto extent = item.if_uint();
    if (!extent) return canonical;
    out += fmt::format("{}{}", out.empty() ? "" : "x", *extent);
  }
  return out;
}

Value word(const Mapping& mapping, const Value& raw, bool back) {
  const auto* text = raw.if_string();
  if (text == nullptr) return raw;
  for (const auto& [theirs, ours] : mapping.words)
    if ((back ? ours : theirs) == *text) return back ? theirs : ours;
  return raw;
}

Value version(const Value& raw) {
  const auto* text = raw.if_string();
  const bool prefixed =
      text != nullptr && text->size() > 1 && (*text)[0] == 'v' && (*text)[1] >= '0' && (*text)[1] <= '9';
  return prefixed ? Value(text->substr(1)) : raw;
}

Value digest(const Value& raw) {
  const auto* text = raw.if_string();
  return text != nullptr && text->size() == 64 && all_hex(*text) ? Value(std::string(kDigestPrefix) + *text) : raw;
}

Value bare_digest(const Value& canonical) {
  const auto* text = canonical.if_string();
  return text != nullptr && text->starts_with(kDigestPrefix) ? Value(text->substr(kDigestPrefix.size())) : canonical;
}

constexpr std::int64_t kYear10000 = 253402300800;  // seconds

Value time_text(const Value& raw) {
  namespace ch = std::chrono;
  const auto seconds = raw.if_int();
  if (!seconds || *seconds < 0 || *seconds >= kYear10000) return spelling(raw);
  const ch::sys_seconds at{ch::seconds(*seconds)};
  const auto day = ch::floor<ch::days>(at);
  const ch::year_month_day date(day);
  const ch::hh_mm_ss clock(at - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count());
}

std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  int out = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + count, out);
  if (error != std::errc() || end != text.data() + at + count || out < 0) return std::nullopt;
  return out;
}

Value time_seconds(const Value& canonical) {
  namespace ch = std::chrono;
  const auto* text = canonical.if_string();
  if (text == nullptr || text->size() != 20) return canonical;
  const auto year = digits(*text, 0, 4), month = digits(*text, 5, 2), day = digits(*text, 8, 2),
             hour = digits(*text, 11, 2), minute = digits(*text, 14, 2), second = digits(*text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return canonical;
  const ch::year_month_day date{ch::year(*year), ch::month(static_cast<unsigned>(*month)),
                                ch::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return canonical;
  const auto at = ch::sys_days(date) + ch::hours(*hour) + ch::minutes(*minute) + ch::seconds(*second);
  return static_cast<std::int64_t>(ch::duration_cast<ch::seconds>(at.time_since_epoch()).count());
}

Value hex(const Value& raw) {
  const auto* text = raw.if_string();
  const auto value = text != nullptr ? parse_hex_u64(*text) : std::nullopt;
  return value ? Value(hex_u64(*value)) : raw;
}

/// A list of as many empty objects; what is no object is carried over.
Value items(const Value& raw) {
  const auto* list = raw.if_array();
  if (list == nullptr) return raw;
  Value out = Value::array();
  for (const auto& item : *list) {
    out.push(item.is_object() ? Value::object() : item);
    out.if_array()->back().line = item.line;
    out.if_array()->back().column = item.column;
  }
  return out;
}

Value translated(const Mapping& mapping, const Value& raw) {
  switch (mapping.parse) {
    case Parser::kRawText:
      return spelling(raw);
    case Parser::kInt:
      return scaled(mapping, raw);
    case Parser::kHexU64:
      return hex(raw);
    case Parser::kU64: {
      const auto value = raw.if_uint();
      return value ? Value(hex_u64(*value)) : spelling(raw);
    }
    case Parser::kQuantity:
      return quantity(mapping, raw);
    case Parser::kBitmaskList:
      return bitmask(raw);
    case Parser::kShapeString:
      return shape(raw);
    case Parser::kEnum:
      return word(mapping, raw, false);
    case Parser::kSemver:
      return version(raw);
    case Parser::kDigest:
      return digest(raw);
    case Parser::kTime:
      return time_text(raw);
    case Parser::kItems:
      return items(raw);
    case Parser::kText:
    case Parser::kNumber:
    case Parser::kBool:
    case Parser::kKey:
    case Parser::kCopy:
      break;
  }
  return raw;
}

Value candidate(const Mapping& mapping, const Value& canonical) {
  switch (mapping.parse) {
    case Parser::kInt: {
      const auto value = canonical.if_uint();
      return mapping.scale > 1 && value && *value % mapping.scale == 0 ? Value(*value / mapping.scale) : canonical;
    }
    case Parser::kU64: {
      const auto* text = canonical.if_string();
      const auto value = text != nullptr ? parse_hex_u64(*text) : std::nullopt;
      return value ? Value(*value) : canonical;
    }
    case Parser::kQuantity: {
      const auto value = canonical.if_uint();
      for (const auto& [name, bytes] : mapping.units)
        if (value && *value % bytes == 0) return fmt::format("{} {}", *value / bytes, name);
      return canonical;
    }
    case Parser::kBitmaskList:
      return bits(canonical);
    case Parser::kShapeString:
      return shape_text(canonical);
    case Parser::kEnum:
      return word(mapping, canonical, true);
    case Parser::kDigest:
      return bare_digest(canonical);
    case Parser::kTime:
      return time_seconds(canonical);
    case Parser::kItems:
      return items(canonical);
    default:
      return canonical;
  }
}

}  // namespace

std::string_view parser_name(Parser parser) {
  const auto at = std::find_if(kParsers.begin(), kParsers.end(), [&](const auto& row) { return row.second == parser; });
  return at != kParsers.end() ? at->first : "";
}

std::optional<Parser> parser_of(std::string_view name) {
  const auto at = std::find_if(kParsers.begin(), kParsers.end(), [&](const auto& row) { return row.first == name; });
  return at != kParsers.end() ? std::optional(at->second) : std::nullopt;
}

Value parse_value(const Mapping& mapping, const Value& raw) {
  Value out = translated(mapping, raw);
  out.line = raw.line;
  out.column = raw.column;
  return out;
}

Value unparse_value(const Mapping& mapping, const Value& canonical) {
  Value out = candidate(mapping, canonical);
  return mapping.parse == Parser::kItems || parse_value(mapping, out) == canonical ? out : canonical;
}

}  // namespace calkit::calbin
