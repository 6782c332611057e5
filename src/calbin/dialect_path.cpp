/// Pointers, patterns and places in a document.
#include <algorithm>

#include "calkit/base/document.h"
#include "calkit/base/json_pointer.h"
#include "calkit/base/text.h"
#include "dialect_parts.h"

namespace calkit::calbin {

namespace {

/// A pattern, and how many of its steps lead to the value at hand.
struct Reached {
  const KnownPath* known;
  std::size_t steps;
};

class StrayWalk {
 public:
  std::vector<Stray> out;

  void visit(const Value& at, const std::string& pointer, const std::vector<Reached>& reached) {
    if (const auto* items = at.if_array()) {
      for (std::size_t i = 0; i < items->size(); ++i) child((*items)[i], "*", std::to_string(i), pointer, reached);
    } else if (const auto* members = at.if_object()) {
      for (const auto& [key, value] : *members) child(value, key, key, pointer, reached);
    }
  }

 private:
  void child(const Value& value, std::string_view step, std::string_view name, const std::string& above,
             const std::vector<Reached>& reached) {
    std::vector<Reached> here;
    bool end = false, deeper = false;
    for (const auto& [known, steps] : reached) {
      const auto& pattern = known->pattern->steps;
      if (steps == pattern.size() || (pattern[steps] != step && pattern[steps] != "*")) continue;
      here.push_back({known, steps + 1});
      if (steps + 1 < pattern.size()) {
        deeper = true;
        continue;
      }
      if (known->whole) return;
      end = true;
    }
    const std::string pointer = above + "/" + pointer_step(name);
    const bool holder = value.is_object() || value.is_array();
    if (deeper && holder) return visit(value, pointer, here);
    if (end && !(holder && deeper)) return;  // read, whatever it holds
    out.push_back({pointer, &value, here.empty() ? nearest(name, reached) : std::string()});
  }

  static std::string nearest(std::string_view name, const std::vector<Reached>& reached) {
    std::vector<std::string> keys;
    for (const auto& [known, steps] : reached)
      if (steps < known->pattern->steps.size() && known->pattern->steps[steps] != "*")
        keys.push_back(known->pattern->steps[steps]);
    return nearest_word(name, keys);
  }
};

}  // namespace

std::string pointer_of(const Path& path) {
  std::string out;
  for (const auto& step : path) {
    const auto* key = std::get_if<std::string>(&step);
    out += "/" + (key != nullptr ? pointer_step(*key) : std::to_string(std::get<std::size_t>(step)));
  }
  return out;
}

std::vector<std::string> steps_of(std::string_view pointer) {
  std::vector<std::string> out;
  if (pointer.empty()) return out;
  for (auto& step : split(pointer.substr(1), '/')) {
    std::string plain;
    for (std::size_t i = 0; i < step.size(); ++i) {
      const bool escaped = step[i] == '~' && i + 1 < step.size() && (step[i + 1] == '0' || step[i + 1] == '1');
      plain += !escaped ? step[i] : step[++i] == '0' ? '~' : '/';
    }
    out.push_back(std::move(plain));
  }
  return out;
}

const Value* look_up(const Value& root, const Path& path) {
  const Value* at = &root;
  for (const auto& step : path) {
    if (const auto* key = std::get_if<std::string>(&step)) {
      at = at->find(*key);
    } else {
      const auto* items = at->if_array();
      const std::size_t index = std::get<std::size_t>(step);
      at = items != nullptr && index < items->size() ? &(*items)[index] : nullptr;
    }
    if (at == nullptr) return nullptr;
  }
  return at;
}

Value* make_place(Value& root, const Path& path) {
  Value* at = &root;
  for (const auto& step : path) {
    if (const auto* key = std::get_if<std::string>(&step)) {
      if (!at->is_object() && !at->is_null()) return nullptr;
      Value* member = at->find(*key);
      at = member != nullptr ? member : &at->set(*key, Value());
    } else {
      if (!at->is_array() && !at->is_null()) return nullptr;
      const std::size_t index = std::get<std::size_t>(step);
      while (at->if_array() == nullptr || at->if_array()->size() <= index) at->push(Value());
      at = &(*at->if_array())[index];
    }
  }
  return at;
}

std::vector<Stray> strays(const Value& root, const std::vector<KnownPath>& known) {
  StrayWalk walk;
  std::vector<Reached> reached;
  for (const auto& path : known) reached.push_back({&path, 0});
  walk.visit(root, "", reached);
  return std::move(walk.out);
}

}  // namespace calkit::calbin
