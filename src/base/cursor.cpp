#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calkit/base/document.h"
#include "calkit/base/json_pointer.h"
#include "tree_builder.h"

namespace calkit {
namespace {

/// One step of a JSON pointer (RFC 6901).
std::string step(std::string_view pointer, std::string_view key) {
  return std::string(pointer) + "/" + pointer_step(key);
}

std::string where(const std::string& file, const Value& value) {
  return value.line == 0 ? file : at_line(file, value.line);
}

template <class Range>
std::string joined(const Range& words, std::string_view separator) {
  std::string out;
  for (const auto& word : words) {
    if (!out.empty()) out += separator;
    out += word;
  }
  return out;
}

std::string did_you_mean(std::string_view word, std::initializer_list<std::string_view> known) {
  const std::string nearest = nearest_word(word, std::vector<std::string>(known.begin(), known.end()));
  return nearest.empty() ? std::string{} : fmt::format("did you mean '{}'?", nearest);
}

template <class T>
std::string range_text(std::string_view kind, T min, T max) {
  const bool open_below = min == std::numeric_limits<T>::min();
  const bool open_above = max == std::numeric_limits<T>::max();
  if (open_below && open_above) return std::string(kind);
  if (open_above) return fmt::format("{} >= {}", kind, min);
  return fmt::format("{} from {} to {}", kind, min, max);
}

}  // namespace

Cursor::Cursor(const Value& root, std::string file)
    : value_(&root), file_(std::make_shared<const std::string>(std::move(file))) {}

Cursor::Cursor(const Value* value, std::shared_ptr<const std::string> file, std::string pointer)
    : value_(value), file_(std::move(file)), pointer_(std::move(pointer)) {}

Error Cursor::error(std::string_view found, std::string_view allowed, std::string hint) const {
  return input_error(where(*file_, *value_), pointer_, found, allowed, std::move(hint));
}

Result<Cursor> Cursor::at(std::string_view key) const {
  if (!value_->is_object()) return error(value_->describe(), "an object");
  if (const Value* member = value_->find(key)) return Cursor(member, file_, step(pointer_, key));
  return Error{ErrorKind::kInput,
               fmt::format("{}: {}: required field missing", where(*file_, *value_), step(pointer_, key))};
}

std::optional<Cursor> Cursor::find(std::string_view key) const {
  const Value* member = value_->find(key);
  if (!member || member->is_null()) return std::nullopt;
  return Cursor(member, file_, step(pointer_, key));
}

Result<std::vector<Cursor>> Cursor::items() const {
  const Value::Array* array = value_->if_array();
  if (!array) return error(value_->describe(), "an array");
  std::vector<Cursor> out;
  out.reserve(array->size());
  for (std::size_t i = 0; i < array->size(); ++i)
    out.push_back(Cursor(&(*array)[i], file_, fmt::format("{}/{}", pointer_, i)));
  return out;
}

Result<std::vector<std::pair<std::string, Cursor>>> Cursor::members() const {
  const Value::Object* object = value_->if_object();
  if (!object) return error(value_->describe(), "an object");
  std::vector<std::pair<std::string, Cursor>> out;
  out.reserve(object->size());
  for (const Value::Member& member : *object)
    out.emplace_back(member.first, Cursor(&member.second, file_, step(pointer_, member.first)));
  return out;
}

Result<std::string> Cursor::as_string() const {
  if (const std::string* text = value_->if_string()) return *text;
  const bool scalar = value_->is_bool() || value_->is_integer() || value_->is_double();
  return error(value_->describe(), "a string", scalar ? "put it in quotes" : "");
}

Result<bool> Cursor::as_bool() const {
  if (const bool* flag = value_->if_bool()) return *flag;
  return error(value_->describe(), "true or false");
}

Result<std::int64_t> Cursor::as_int(std::int64_t min, std::int64_t max) const {
  const auto number = value_->if_int();
  if (number && *number >= min && *number <= max) return *number;
  return error(value_->describe(), range_text("an integer", min, max));
}

Result<std::uint64_t> Cursor::as_uint(std::uint64_t min, std::uint64_t max) const {
  const auto number = value_->if_uint();
  if (number && *number >= min && *number <= max) return *number;
  return error(value_->describe(),
               min == 0 && max == UINT64_MAX ? "an integer >= 0" : range_text("an integer", min, max));
}

Result<double> Cursor::as_number() const {
  const auto number = value_->if_number();
  if (number && std::isfinite(*number)) return *number;
  return error(value_->describe(), "a finite number");
}

Result<std::string> Cursor::as_word(std::initializer_list<std::string_view> allowed) const {
  const std::string* text = value_->if_string();
  if (text && std::find(allowed.begin(), allowed.end(), *text) != allowed.end()) return *text;
  return error(value_->describe(), joined(allowed, " | "), text ? did_you_mean(*text, allowed) : "");
}

Result<std::vector<std::int64_t>> Cursor::as_ints() const {
  CALKIT_TRY(const auto cursors, items());
  std::vector<std::int64_t> out;
  out.reserve(cursors.size());
  for (const Cursor& cursor : cursors) {
    CALKIT_TRY(const std::int64_t number, cursor.as_int());
    out.push_back(number);
  }
  return out;
}

Result<std::string> Cursor::string(std::string_view key) const {
  CALKIT_TRY(const Cursor member, at(key));
  return member.as_string();
}
Result<bool> Cursor::boolean(std::string_view key) const {
  CALKIT_TRY(const Cursor member, at(key));
  return member.as_bool();
}
Result<std::int64_t> Cursor::integer(std::string_view key, std::int64_t min, std::int64_t max) const {
  CALKIT_TRY(const Cursor member, at(key));
  return member.as_int(min, max);
}
Result<std::uint64_t> Cursor::uinteger(std::string_view key, std::uint64_t min, std::uint64_t max) const {
  CALKIT_TRY(const Cursor member, at(key));
  return member.as_uint(min, max);
}
Result<double> Cursor::number(std::string_view key) const {
  CALKIT_TRY(const Cursor member, at(key));
  return member.as_number();
}

Status Cursor::only(std::initializer_list<std::string_view> keys) const {
  CALKIT_TRY(const auto all, members());
  for (const auto& [name, member] : all) {
    if (std::find(keys.begin(), keys.end(), name) == keys.end())
      return member.error("an unknown field", joined(keys, ", "), did_you_mean(name, keys));
  }
  return {};
}

}  // namespace calkit
