#include "value.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "call.h"
#include "loop.h"

namespace calkit::jinja {
namespace {

constexpr std::size_t kLinear = 8;

std::shared_ptr<List> make_list(std::vector<Var> items) {
  auto out = std::make_shared<List>();
  for (const Var& item : items) out->depth = std::max(out->depth, item.depth() + 1);
  out->items = std::move(items);
  return out;
}

const std::string kNoText;

}  // namespace

Var Var::real(double v) {
  Var out(Kind::kFloat, 0);
  out.real_ = v;
  return out;
}

Var Var::text(std::string text, bool markup) {
  auto out = std::make_shared<Text>();
  out->text = std::move(text);
  out->markup = markup;
  return of(Kind::kString, std::move(out));
}

Var Var::undefined(std::string why) {
  Var out = text(std::move(why));
  out.kind_ = Kind::kUndefined;
  return out;
}

Var Var::list(std::vector<Var> items) {
  return of(Kind::kList, make_list(std::move(items)));
}

Var Var::tuple(std::vector<Var> items) {
  return of(Kind::kTuple, make_list(std::move(items)));
}

const Text& Var::as_text() const {
  return static_cast<const Text&>(*object_);
}
const std::string& Var::text() const {
  return kind_ == Kind::kString ? as_text().text : kNoText;
}
bool Var::markup() const {
  return kind_ == Kind::kString && as_text().markup;
}
const std::vector<Var>& Var::items() const {
  return static_cast<const List&>(*object_).items;
}
const Dict& Var::dict() const {
  return static_cast<const Dict&>(*object_);
}
const Range& Var::range() const {
  return static_cast<const Range&>(*object_);
}
const View& Var::view() const {
  return static_cast<const View&>(*object_);
}
Iterator& Var::iterator() const {
  return static_cast<Iterator&>(*object_);
}
Namespace& Var::name_space() const {
  return static_cast<Namespace&>(*object_);
}
Loop& Var::loop() const {
  return static_cast<Loop&>(*object_);
}
const Macro& Var::macro() const {
  return static_cast<const Macro&>(*object_);
}
const Function& Var::function() const {
  return static_cast<const Function&>(*object_);
}
const std::string& Var::why() const {
  return kind_ == Kind::kUndefined ? as_text().text : kNoText;
}

std::uint32_t Var::depth() const {
  if (is_list_like()) return static_cast<const List&>(*object_).depth;
  if (kind_ == Kind::kDict) return dict().depth;
  if (kind_ == Kind::kView) return static_cast<const Dict&>(*view().dict).depth + 1;
  if (kind_ == Kind::kIterator) return iterator().depth;
  if (kind_ == Kind::kFunction) return function().self.depth() + 1;
  return 0;
}

std::size_t Text::length() const {
  if (points == std::string::npos)
    points = static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  return points;
}

const Var* Dict::find(std::string_view key) const {
  if (index_.empty()) {
    for (const auto& [k, v] : items)
      if (k.is(Kind::kString) && k.text() == key) return &v;
    return nullptr;
  }
  const auto found = index_.find("s" + std::string(key));
  return found == index_.end() ? nullptr : &items[found->second].second;
}

const Var* Dict::find(const Var& key) const {
  if (key.is(Kind::kString)) return find(key.text());
  const auto wanted = key_text(key);
  if (!wanted) return nullptr;
  if (!index_.empty()) {
    const auto found = index_.find(*wanted);
    return found == index_.end() ? nullptr : &items[found->second].second;
  }
  for (const auto& [k, v] : items)
    if (key_text(k) == wanted) return &v;
  return nullptr;
}

void Dict::set(Var key, Var value) {
  depth = std::max({depth, value.depth() + 1, key.depth() + 1});
  if (const Var* old = find(key)) {
    *const_cast<Var*>(old) = std::move(value);
    return;
  }
  if (!index_.empty()) index_.emplace(*key_text(key), items.size());
  items.emplace_back(std::move(key), std::move(value));
  if (index_.empty() && items.size() > kLinear)
    for (std::size_t i = 0; i < items.size(); ++i) index_.emplace(*key_text(items[i].first), i);
}

Var View::at(std::size_t i) const {
  const auto& entry = static_cast<const Dict&>(*dict).items[i];
  if (what == kKeys) return entry.first;
  return what == kValues ? entry.second : Var::tuple({entry.first, entry.second});
}

std::size_t View::size() const {
  return static_cast<const Dict&>(*dict).items.size();
}

std::optional<std::string> key_text(const Var& value) {
  switch (value.kind()) {
    case Kind::kString:
      return "s" + value.text();
    case Kind::kNone:
      return "n";
    case Kind::kBool:
    case Kind::kInt:
      return fmt::format("i{}", value.integer());
    case Kind::kFloat: {
      const double v = value.real();
      if (v == std::trunc(v) && std::abs(v) < 9e18) return fmt::format("i{}", static_cast<std::int64_t>(v));
      return fmt::format("f{:x}", std::bit_cast<std::uint64_t>(v));
    }
    case Kind::kTuple: {
      std::string out = "(";
      for (const Var& item : value.items()) {
        const auto part = key_text(item);
        if (!part) return std::nullopt;
        out += fmt::format("{}:{}", part->size(), *part);
      }
      return out;
    }
    default:
      return std::nullopt;
  }
}

const char* type_name(const Var& value) {
  switch (value.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return value.markup() ? "Markup" : "str";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kDict:
      return "dict";
    case Kind::kRange:
      return "range";
    case Kind::kView:
      return value.view().what == View::kItems  ? "dict_items"
             : value.view().what == View::kKeys ? "dict_keys"
                                                : "dict_values";
    case Kind::kIterator:
      return "generator";
    case Kind::kNamespace:
      return "Namespace";
    case Kind::kLoop:
      return "LoopContext";
    case Kind::kMacro:
      return "Macro";
    case Kind::kFunction:
      return "function";
  }
  return "value";
}

std::optional<std::size_t> size_of(const Var& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return 0;
    case Kind::kString:
      return value.as_text().length();
    case Kind::kList:
    case Kind::kTuple:
      return value.items().size();
    case Kind::kDict:
      return value.dict().items.size();
    case Kind::kRange:
      return static_cast<std::size_t>(value.range().length);
    case Kind::kView:
      return value.view().size();
    default:
      return std::nullopt;
  }
}

bool truth(const Var& value) {
  switch (value.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInt:
      return value.integer() != 0;
    case Kind::kFloat:
      return value.real() != 0;
    case Kind::kString:
      return !value.text().empty();
    default: {
      const auto size = size_of(value);
      return !size || *size > 0;
    }
  }
}

Result<Var> from_value(const Value& value) {
  if (value.is_null()) return Var::none();
  if (const bool* flag = value.if_bool()) return Var::boolean(*flag);
  if (value.is_integer()) {
    if (const auto number = value.if_int()) return Var::integer(*number);
    return Error{ErrorKind::kInput,
                 fmt::format("the integer {} in the template's input; allowed: 64 bits with sign", value.describe())};
  }
  if (value.is_double()) return Var::real(*value.if_number());
  if (const std::string* text = value.if_string()) return Var::text(*text);
  if (const auto* array = value.if_array()) {
    std::vector<Var> items;
    items.reserve(array->size());
    for (const Value& item : *array) {
      CALKIT_TRY(auto one, from_value(item));
      items.push_back(std::move(one));
    }
    return Var::list(std::move(items));
  }
  auto out = std::make_shared<Dict>();
  for (const auto& [key, member] : *value.if_object()) {
    CALKIT_TRY(auto one, from_value(member));
    out->set(Var::text(key), std::move(one));
  }
  return Var::of(Kind::kDict, std::move(out));
}

}  // namespace calkit::jinja
