#pragma once
/// The strict readers of JSON and YAML, the canonical JSON writer, and Cursor, which reads fields with good errors.
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/base/result.h"
#include "calkit/base/value.h"

namespace calkit {

struct ReadLimits {
  std::uint64_t max_bytes = 256ull << 20;
  std::uint32_t max_depth = 64;
  std::uint64_t max_entries = UINT64_MAX;  ///< values of all kinds, the root among them
  std::uint64_t max_string = UINT64_MAX;   ///< bytes of one string or key
  bool byte_order_mark = false;            ///< one in front of the text is passed over instead of refused
};

/// Parses one JSON document (RFC 8259, UTF-8, no BOM). The error's read_problem tells the case. kInput for: duplicate
/// keys, depth, bad UTF-8, trailing bytes, NaN, an integer outside [-2^63, 2^64), a double that overflows.
/// @param file the name used in messages.
Result<Value> parse_json(std::string_view text, std::string_view file, const ReadLimits& limits = {});

/// Parses one YAML document of the safe subset: plain mappings, sequences and scalars. kInput for: duplicate keys,
/// anchors, aliases, tags, merge keys, a second document, depth, bad UTF-8, and plain scalars whose reading differs
/// between YAML versions (`010`, `0x10`, `+5`, `no`, `1e3` as an integer, `.nan`): quote them or write plain decimals.
Result<Value> parse_yaml(std::string_view text, std::string_view file, const ReadLimits& limits = {});

/// Reads and parses a file; messages name the path as it was given.
Result<Value> read_json(const std::filesystem::path& path, const ReadLimits& limits = {});
Result<Value> read_yaml(const std::filesystem::path& path, const ReadLimits& limits = {});
/// JSON lines: only U+000A ends a record; blank last line allowed; each error names the line.
Result<std::vector<Value>> parse_json_lines(std::string_view text, std::string_view file,
                                            const ReadLimits& limits = {});
Result<std::vector<Value>> read_json_lines(const std::filesystem::path& path, const ReadLimits& limits = {});

struct WriteStyle {
  bool sorted = true;  ///< members by byte order of the key; false keeps their order
  int indent = 2;      ///< -1: one line
};
/// JSON text without a final line feed. Doubles are printed in the shortest form that reads back the same; integers
/// exact.
std::string to_json(const Value& value, const WriteStyle& style = {});

/// The nearest of `known` to `word` (edit distance <= 1/3 of its length + 1), or empty.
std::string nearest_word(std::string_view word, const std::vector<std::string>& known);

/// A place in a document: the value, its file and its JSON pointer. Every error names the three.
/// The document must outlive its cursors.
class Cursor {
 public:
  Cursor(const Value& root, std::string file);

  const Value& value() const { return *value_; }
  const std::string& file() const { return *file_; }
  const std::string& pointer() const { return pointer_; }  ///< "" is the root

  /// The member `key`; kInput "required field missing" if absent or this is no object.
  Result<Cursor> at(std::string_view key) const;
  /// The member `key`, or nullopt if it is absent or null.
  std::optional<Cursor> find(std::string_view key) const;
  /// All items of an array.
  Result<std::vector<Cursor>> items() const;
  /// All members of an object, in file order.
  Result<std::vector<std::pair<std::string, Cursor>>> members() const;

  Result<std::string> as_string() const;
  Result<bool> as_bool() const;
  Result<std::int64_t> as_int(std::int64_t min = INT64_MIN, std::int64_t max = INT64_MAX) const;
  Result<std::uint64_t> as_uint(std::uint64_t min = 0, std::uint64_t max = UINT64_MAX) const;
  Result<double> as_number() const;  ///< a finite number; integers are widened
  /// A string that must be one of `allowed`.
  Result<std::string> as_word(std::initializer_list<std::string_view> allowed) const;
  Result<std::vector<std::int64_t>> as_ints() const;

  Result<std::string> string(std::string_view key) const;
  Result<bool> boolean(std::string_view key) const;
  Result<std::int64_t> integer(std::string_view key, std::int64_t min = INT64_MIN, std::int64_t max = INT64_MAX) const;
  Result<std::uint64_t> uinteger(std::string_view key, std::uint64_t min = 0, std::uint64_t max = UINT64_MAX) const;
  Result<double> number(std::string_view key) const;

  /// Refuses members that are not in `keys`, naming the nearest known key.
  Status only(std::initializer_list<std::string_view> keys) const;

  /// "FILE:LINE: POINTER: found ...; allowed: ..." of kind kInput.
  Error error(std::string_view found, std::string_view allowed, std::string hint = {}) const;

 private:
  Cursor(const Value* value, std::shared_ptr<const std::string> file, std::string pointer);
  const Value* value_;
  std::shared_ptr<const std::string> file_;
  std::string pointer_;
};

}  // namespace calkit
