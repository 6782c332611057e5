#pragma once
/// Values of a running template (private to jinja). They are immutable, but for namespaces, iterators and loops.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "calkit/base/result.h"
#include "calkit/base/value.h"

namespace calkit::jinja {

enum class Kind : std::uint8_t {
  kMissing,  ///< a slot that nobody has set; never seen by an operation
  kUndefined,
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kList,
  kTuple,
  kDict,
  kRange,
  kView,  ///< what .items(), .keys() and .values() of a dict give
  kIterator,
  kNamespace,
  kLoop,
  kMacro,
  kFunction,
};

struct Object {
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
};

struct Text;
struct List;
struct Dict;
struct Range;
struct View;
struct Iterator;
struct Namespace;
struct Loop;
struct Macro;
struct Function;

class Var {
 public:
  Var() = default;  ///< missing
  static Var none() { return Var(Kind::kNone, 0); }
  static Var boolean(bool v) { return Var(Kind::kBool, v ? 1 : 0); }
  static Var integer(std::int64_t v) { return Var(Kind::kInt, v); }
  static Var real(double v);
  static Var text(std::string text, bool markup = false);
  static Var undefined(std::string why);  ///< `why` is said when an operation needs a value
  static Var list(std::vector<Var> items);
  static Var tuple(std::vector<Var> items);
  static Var of(Kind kind, std::shared_ptr<Object> object) {
    Var out(kind, 0);
    out.object_ = std::move(object);
    return out;
  }

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_integer() const { return kind_ == Kind::kInt || kind_ == Kind::kBool; }
  bool is_number() const { return is_integer() || kind_ == Kind::kFloat; }
  bool is_list_like() const { return kind_ == Kind::kList || kind_ == Kind::kTuple; }
  bool boolean() const { return number_ != 0; }
  std::int64_t integer() const { return number_; }  ///< of an int or a bool
  double real() const { return kind_ == Kind::kFloat ? real_ : static_cast<double>(number_); }
  const std::string& text() const;
  const Text& as_text() const;
  bool markup() const;
  const std::vector<Var>& items() const;  ///< of a list or a tuple
  const Dict& dict() const;
  const Range& range() const;
  const View& view() const;
  Iterator& iterator() const;
  Namespace& name_space() const;
  Loop& loop() const;
  const Macro& macro() const;
  const Function& function() const;
  const std::string& why() const;  ///< of an undefined value
  const void* identity() const { return object_.get(); }
  const std::shared_ptr<Object>& object() const { return object_; }
  std::uint32_t depth() const;  ///< 0 for what holds no other values

 private:
  Var(Kind kind, std::int64_t number) : kind_(kind), number_(number) {}
  Kind kind_ = Kind::kMissing;
  union {
    std::int64_t number_ = 0;
    double real_;
  };
  std::shared_ptr<Object> object_;
};

struct Text : Object {
  std::string text;
  bool markup = false;
  mutable std::size_t points = std::string::npos;  ///< code points, counted once
  std::size_t length() const;
  bool ascii() const { return length() == text.size(); }
};
struct List : Object {
  std::vector<Var> items;
  std::uint32_t depth = 1;
  bool group = false;  ///< of groupby: items are also called grouper and list
};
/// In the order of insertion; keys are strings, numbers, None or tuples of them.
struct Dict : Object {
  std::vector<std::pair<Var, Var>> items;
  std::uint32_t depth = 1;
  const Var* find(std::string_view key) const;
  const Var* find(const Var& key) const;  ///< nullptr also for a key that no dict can have
  void set(Var key, Var value);

 private:
  std::unordered_map<std::string, std::size_t> index_;  // made when linear search would take too long
};
struct Range : Object {
  std::int64_t start = 0, stop = 0, step = 1, length = 0;
  /// Wraps on the way, as the distance of two items may need 65 bits; the item itself fits.
  std::int64_t at(std::uint64_t i) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(start) + i * static_cast<std::uint64_t>(step));
  }
};
struct View : Object {
  enum What { kItems, kKeys, kValues } what = kItems;
  std::shared_ptr<Object> dict;
  Var at(std::size_t i) const;
  std::size_t size() const;
};
struct Iterator : Object {
  std::uint32_t depth = 1;  ///< one more than what it walks over
  virtual Result<std::optional<Var>> next() = 0;
};
/// Owned by the run, so that one that holds itself goes away with it.
struct Namespace : Object {
  Dict values;
};

/// A key as text under which equal keys are equal; nullopt for what cannot be a key.
std::optional<std::string> key_text(const Var& value);
const char* type_name(const Var& value);  ///< as Python calls it
bool truth(const Var& value);
/// The elements of a sized value (list, tuple, dict, view, range, text, undefined).
std::optional<std::size_t> size_of(const Var& value);
Result<Var> from_value(const Value& value);

}  // namespace calkit::jinja
