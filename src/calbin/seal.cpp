#include "seal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "calkit/base/hash.h"
#include "calkit/calbin/reading.h"

namespace calkit::calbin {

namespace {

/// As ECMAScript prints a number: the shortest digits that read back the same, an exponent outside 1e-6 to 1e21.
void append_double(std::string& out, double number) {
  if (number == 0) {
    out += '0';
    return;
  }
  std::array<char, 32> buffer{};
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::abs(number), std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data()));
  const auto e = text.find('e');
  std::string digits(text.substr(0, e));
  std::erase(digits, '.');
  int exponent = 0;
  const char* from = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(from, text.data() + text.size(), exponent);
  const int count = static_cast<int>(digits.size()), point = exponent + 1;  // digits before the decimal point
  if (number < 0) out += '-';
  if (point > 21 || point < -5) {
    out += digits[0];
    if (count > 1) out += '.' + digits.substr(1);
    out += fmt::format("e{:+}", exponent);
  } else if (point <= 0) {
    out += "0." + std::string(static_cast<std::size_t>(-point), '0') + digits;
  } else if (point >= count) {
    out += digits + std::string(static_cast<std::size_t>(point - count), '0');
  } else {
    out += digits.substr(0, static_cast<std::size_t>(point)) + '.' + digits.substr(static_cast<std::size_t>(point));
  }
}

void append_string(std::string& out, std::string_view text) {
  constexpr std::string_view kShort = "\b\t\n\f\r\"\\", kLetter = "btnfr\"\\";
  const auto is_plain = [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\'; };
  out += '"';
  for (auto from = text.begin(); from != text.end();) {
    const auto to = std::find_if_not(from, text.end(), is_plain);
    out.append(from, to);
    if (to == text.end()) break;
    if (const auto at = kShort.find(*to); at != std::string_view::npos)
      out.append({'\\', kLetter[at]});
    else
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(*to));
    from = to + 1;
  }
  out += '"';
}

/// Order of UTF-16 code units: that of UTF-8 bytes, but for surrogates (from 0xF0) before U+E000 to U+FFFF (0xEE,
/// 0xEF).
bool key_before(const Value::Member* a, const Value::Member* b) {
  const auto rank = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == 0xEE || byte == 0xEF ? byte + 0x10 : int{byte};
  };
  return std::lexicographical_compare(a->first.begin(), a->first.end(), b->first.begin(), b->first.end(),
                                      [&](char x, char y) { return rank(x) < rank(y); });
}

/// @param skip a member of this object that is left out.
void append(std::string& out, const Value& value, std::string_view skip = {}) {
  if (value.is_null()) {
    out += "null";
  } else if (const bool* flag = value.if_bool()) {
    out += *flag ? "true" : "false";
  } else if (const auto number = value.if_int()) {
    out += std::to_string(*number);
  } else if (const auto large = value.if_uint()) {
    out += std::to_string(*large);
  } else if (value.is_double()) {
    append_double(out, *value.if_number());
  } else if (const auto* text = value.if_string()) {
    append_string(out, *text);
  } else if (const auto* items = value.if_array()) {
    out += '[';
    for (const Value& item : *items) {
      if (&item != items->data()) out += ',';
      append(out, item);
    }
    out += ']';
  } else {
    std::vector<const Value::Member*> order;
    for (const auto& member : *value.if_object())
      if (skip.empty() || member.first != skip) order.push_back(&member);
    if (!std::is_sorted(order.begin(), order.end(), key_before)) std::sort(order.begin(), order.end(), key_before);
    out += '{';
    for (const auto* member : order) {
      if (member != order.front()) out += ',';
      append_string(out, member->first);
      out += ':';
      append(out, member->second);
    }
    out += '}';
  }
}

}  // namespace

std::string canonical_json(const Value& value) {
  std::string out;
  append(out, value);
  return out;
}

std::string seal_of(const Value& document) {
  std::string text;
  append(text, document, "seal");
  return "sha256:" + sha256_hex(text);
}

}  // namespace calkit::calbin
