#include "diff_documents.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "calkit/base/json_pointer.h"

namespace calkit::frozen {
namespace {

using Named = std::map<std::string, const Value*>;

// The members of an object, or the entries of a list that name themselves; nullopt for anything else.
std::optional<Named> named(const Value& value) {
  Named out;
  if (const auto* members = value.if_object()) {
    for (const auto& [key, member] : *members) out.emplace(key, &member);
    return out;
  }
  const auto* items = value.if_array();
  if (items == nullptr || items->empty()) return std::nullopt;
  for (const Value& item : *items) {
    const std::string* name = nullptr;
    for (const char* key : {"name", "path", "id", "how"})
      if (const Value* found = item.find(key); found != nullptr && name == nullptr) name = found->if_string();
    if (name == nullptr || !out.emplace(*name, &item).second) return std::nullopt;
  }
  return out;
}

class Differ {
 public:
  Differ(const std::string& file, std::vector<FieldChange>& out) : file_(file), out_(out) {}

  void compare(const Value& a, const Value& b, const std::string& pointer) {
    if (a == b) return;
    const auto left = named(a), right = named(b);
    if (left && right && a.is_array() == b.is_array()) return members(*left, *right, pointer);
    const auto *first = a.if_array(), *second = b.if_array();
    if (first != nullptr && second != nullptr && first->size() == second->size()) {
      for (std::size_t i = 0; i < first->size(); ++i)
        compare((*first)[i], (*second)[i], fmt::format("{}/{}", pointer, i));
      return;
    }
    out_.push_back({file_, pointer, a, b});
  }

 private:
  void members(const Named& left, const Named& right, const std::string& pointer) {
    std::set<std::string> keys;
    for (const auto& [key, value] : left) keys.insert(key);
    for (const auto& [key, value] : right) keys.insert(key);
    for (const std::string& key : keys) {
      const std::string at = pointer + "/" + pointer_step(key);
      const auto a = left.find(key), b = right.find(key);
      if (a != left.end() && b != right.end()) {
        compare(*a->second, *b->second, at);
        continue;
      }
      out_.push_back({file_, at, a == left.end() ? std::nullopt : std::optional<Value>(*a->second),
                      b == right.end() ? std::nullopt : std::optional<Value>(*b->second)});
    }
  }

  const std::string& file_;
  std::vector<FieldChange>& out_;
};

}  // namespace

void diff_documents(const Value& a, const Value& b, const std::string& file, std::vector<FieldChange>& out) {
  Differ(file, out).compare(a, b, "");
}

}  // namespace calkit::frozen
