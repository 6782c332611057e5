#pragma once
/// A reader that collects problems instead of stopping: one for calbin.json and op lists.
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/calbin/reading.h"

namespace calkit::calbin {

/// Integers on disk stop here, so that a reader that holds numbers as doubles sees the same value.
inline constexpr std::uint64_t kMaxPlainInteger = (1ull << 53) - 1;

/// A place in the document. Nodes live on the stack of the functions that walk down, so a pointer text is only built
/// for a problem.
struct Node {
  const Value* value = nullptr;  ///< nullptr: absent
  const Node* parent = nullptr;
  std::string_view key;
  std::size_t index = 0;  ///< when the parent is an array

  bool present() const { return value != nullptr && !value->is_null(); }
  std::string pointer() const;
  std::uint32_t line() const;  ///< of the value, else of the nearest parent that has one
};

enum class Need { kRequired, kOptional };

class Reader {
 public:
  explicit Reader(std::vector<Problem>& problems) : problems_(problems) {}

  static Node member(const Node& parent, std::string_view key);
  /// The member as an object; nullopt (and a problem, when required or of another type) if there is none.
  std::optional<Node> object(const Node& parent, std::string_view key, Need need = Need::kRequired);
  /// Calls `read(item)` for each item of an array of objects; a non-object is a problem but still gets its call.
  void objects(const Node& parent, std::string_view key, const std::function<void(const Node&)>& read,
               Need need = Need::kRequired);
  void only(const Node& node, std::initializer_list<std::string_view> keys);

  std::string text(const Node& parent, std::string_view key, Need need = Need::kRequired);
  std::optional<std::string> maybe_text(const Node& parent, std::string_view key);
  std::string word(const Node& parent, std::string_view key, std::initializer_list<std::string_view> allowed,
                   Need need = Need::kRequired);
  /// A time of RFC 3339 in UTC, to the second: "2026-01-02T03:04:05Z".
  std::optional<std::string> maybe_time(const Node& parent, std::string_view key);
  std::int64_t integer(const Node& parent, std::string_view key, std::int64_t min, std::int64_t max);
  std::optional<std::int64_t> maybe_integer(const Node& parent, std::string_view key, std::int64_t min,
                                            std::int64_t max);
  std::uint64_t size(const Node& parent, std::string_view key, Need need = Need::kRequired);
  std::uint64_t hex(const Node& parent, std::string_view key, Need need = Need::kRequired);
  double number(const Node& parent, std::string_view key);
  bool boolean(const Node& parent, std::string_view key, Need need = Need::kRequired);
  std::string digest(const Node& parent, std::string_view key, Need need = Need::kRequired);
  DType dtype(const Node& parent, std::string_view key);
  Shape shape(const Node& parent, std::string_view key, Need need = Need::kRequired);
  std::vector<std::string> texts(const Node& parent, std::string_view key, Need need = Need::kRequired);
  std::vector<std::int64_t> counts(const Node& parent, std::string_view key, Need need);
  std::vector<std::uint64_t> sizes(const Node& parent, std::string_view key, Need need = Need::kRequired);
  std::map<std::string, std::string> text_map(const Node& parent, std::string_view key, Need need = Need::kRequired);
  /// {"0": "id"}: chip number to text.
  std::map<std::int64_t, std::string> chip_map(const Node& parent, std::string_view key, Need need);

  /// One integer that is already at hand: bounds and type.
  std::optional<std::int64_t> integer_of(const Node& node, std::int64_t min, std::int64_t max);
  std::optional<std::uint64_t> size_of(const Node& node);
  std::optional<std::uint64_t> hex_of(const Node& node);

  void problem(ProblemKind kind, const Node& node, std::string found, std::string allowed, std::string hint = {},
               bool understood = false);

 private:
  /// True when there is a value to read; reports a missing required one.
  bool wanted(const Node& node, Need need);
  /// The items of an array; nullptr when it is absent, no array or has more than `most` (both are a wrong type).
  const Value::Array* items_of(const Node& list, Need need, std::string allowed, std::size_t most = SIZE_MAX);
  std::vector<Problem>& problems_;
};

/// Adds a problem for each id of files and regions that is given twice, and for each reference to one that nobody has.
void check_references(const Value& root, const Description& description, std::vector<Problem>& problems);

/// "FILE:LINE: POINTER: found ...; allowed: ...".
Error error_of(const Problem& problem, std::string_view file);

}  // namespace calkit::calbin
