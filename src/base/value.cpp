#include "calkit/base/value.h"

#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/text.h"

namespace calkit {

std::optional<std::int64_t> Value::if_int() const {
  if (const auto* v = std::get_if<std::int64_t>(&data_)) return *v;
  return std::nullopt;
}

std::optional<std::uint64_t> Value::if_uint() const {
  if (const auto* v = std::get_if<std::uint64_t>(&data_)) return *v;
  if (const auto* v = std::get_if<std::int64_t>(&data_); v && *v >= 0) return static_cast<std::uint64_t>(*v);
  return std::nullopt;
}

std::optional<double> Value::if_number() const {
  if (const auto* v = std::get_if<double>(&data_)) return *v;
  if (const auto* v = std::get_if<std::int64_t>(&data_)) return static_cast<double>(*v);
  if (const auto* v = std::get_if<std::uint64_t>(&data_)) return static_cast<double>(*v);
  return std::nullopt;
}

const Value* Value::find(std::string_view key) const {
  if (const Object* members = if_object()) {
    for (const Member& member : *members) {
      if (member.first == key) return &member.second;
    }
  }
  return nullptr;
}

Value* Value::find(std::string_view key) {
  return const_cast<Value*>(std::as_const(*this).find(key));
}

Value& Value::set(std::string_view key, Value value) {
  if (!is_object()) data_ = Object{};
  if (Value* old = find(key)) {
    *old = std::move(value);
    return *old;
  }
  Object& members = *if_object();
  members.emplace_back(std::string(key), std::move(value));
  return members.back().second;
}

void Value::push(Value value) {
  if (!is_array()) data_ = Array{};
  if_array()->push_back(std::move(value));
}

std::string Value::describe() const {
  if (is_null()) return "null";
  if (const bool* v = if_bool()) return *v ? "true" : "false";
  if (const auto v = if_int()) return fmt::format("{}", *v);
  if (const auto v = if_uint()) return fmt::format("{}", *v);
  if (const auto* v = std::get_if<double>(&data_)) {
    const std::string text = fmt::format("{}", *v);
    const bool looks_whole = text.find_first_not_of("-0123456789") == std::string::npos;
    return looks_whole ? text + ".0" : text;
  }
  if (const std::string* v = if_string()) return fmt::format("\"{}\"", printable(*v));
  if (const Array* v = if_array()) return fmt::format("an array of {}", v->size());
  return "an object";
}

bool operator==(const Value& a, const Value& b) {
  const Value::Object* left = a.if_object();
  const Value::Object* right = b.if_object();
  if (!left || !right) return a.data_ == b.data_;
  return left->size() == right->size() && std::all_of(left->begin(), left->end(), [&b](const Value::Member& member) {
           const Value* other = b.find(member.first);
           return other && *other == member.second;
         });
}

}  // namespace calkit
