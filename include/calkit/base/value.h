#pragma once
/// Value: one node of a document (JSON or YAML), with the place it was read from. The only document tree in calkit: the
/// strict readers make it, the writer prints it, and nothing else touches the parsing libraries.
///   integers keep all 64 bits (signed or unsigned); object members keep the order of the file; keys are unique.
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace calkit {

class Value {
 public:
  using Array = std::vector<Value>;
  using Member = std::pair<std::string, Value>;
  using Object = std::vector<Member>;

  Value() = default;  ///< null
  Value(std::nullptr_t) {}
  Value(bool v) : data_(v) {}
  Value(int v) : data_(static_cast<std::int64_t>(v)) {}
  Value(long v) : data_(static_cast<std::int64_t>(v)) {}
  Value(long long v) : data_(static_cast<std::int64_t>(v)) {}
  Value(unsigned v) : data_(static_cast<std::int64_t>(v)) {}
  Value(unsigned long v) { set_unsigned(v); }
  Value(unsigned long long v) { set_unsigned(v); }
  Value(double v) : data_(v) {}  ///< NaN and infinities are written as null
  Value(const char* v) : data_(std::string(v)) {}
  Value(std::string v) : data_(std::move(v)) {}
  Value(std::string_view v) : data_(std::string(v)) {}
  Value(Array v) : data_(std::move(v)) {}
  Value(Object v) : data_(std::move(v)) {}
  template <class T>
  Value(const std::optional<T>& v) {
    if (v) *this = Value(*v);
  }

  /// Value::object({{"name", "x"}, {"bytes", 3}})
  static Value object(std::initializer_list<Member> members = {}) { return Value(Object(members)); }
  static Value array(std::initializer_list<Value> items = {}) { return Value(Array(items)); }
  /// An array from any range of things a Value can be made of.
  template <class Range>
  static Value list(const Range& range) {
    Array out;
    for (const auto& item : range) out.push_back(Value(item));
    return Value(std::move(out));
  }

  bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_integer() const {
    return std::holds_alternative<std::int64_t>(data_) || std::holds_alternative<std::uint64_t>(data_);
  }
  bool is_double() const { return std::holds_alternative<double>(data_); }
  bool is_string() const { return std::holds_alternative<std::string>(data_); }
  bool is_array() const { return std::holds_alternative<Array>(data_); }
  bool is_object() const { return std::holds_alternative<Object>(data_); }

  const bool* if_bool() const { return std::get_if<bool>(&data_); }
  std::optional<std::int64_t> if_int() const;
  std::optional<std::uint64_t> if_uint() const;  ///< nullopt for negative numbers
  std::optional<double> if_number() const;       ///< integer or double
  const std::string* if_string() const { return std::get_if<std::string>(&data_); }
  const Array* if_array() const { return std::get_if<Array>(&data_); }
  const Object* if_object() const { return std::get_if<Object>(&data_); }
  Array* if_array() { return std::get_if<Array>(&data_); }
  Object* if_object() { return std::get_if<Object>(&data_); }

  /// The member of that key, or nullptr (also when this is no object).
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  /// Sets or replaces a member; a null becomes an object first. Returns the member.
  Value& set(std::string_view key, Value value);
  /// Appends to an array; a null becomes an array first.
  void push(Value value);

  /// "null", "true", "17", "\"text\"", "an array of 3", "an object": for messages, cut at 60 characters.
  std::string describe() const;

  std::uint32_t line = 0;    ///< 1-based; 0: not read from a file
  std::uint32_t column = 0;  ///< 1-based byte column

  /// Equal content; positions do not count, the order of object members does not either.
  friend bool operator==(const Value& a, const Value& b);

 private:
  void set_unsigned(std::uint64_t v) {
    if (v <= static_cast<std::uint64_t>(INT64_MAX))
      data_ = static_cast<std::int64_t>(v);
    else
      data_ = v;
  }
  // uint64_t is used only above INT64_MAX.
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object> data_;
};

}  // namespace calkit
