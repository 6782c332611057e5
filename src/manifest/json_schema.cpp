/// The keywords of JSON Schema draft 7 that manifests/schemas use; any other is a defect of the schema.
#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "calkit/base/json_pointer.h"
#include "calkit/base/text.h"
#include "calkit/manifest/check.h"

namespace calkit::manifest {

namespace {

constexpr int kMaxDepth = 128;
constexpr std::size_t kMaxPatternText = 1024;  // std::regex recurses once a character

class Checker {
 public:
  explicit Checker(const Value& schema) : root_(schema) {}

  Status check(const Value& value, const Value& schema, const std::string& pointer, std::vector<ManifestProblem>& out,
               int depth = 0) const {
    if (depth > kMaxDepth) return defect("nesting");
    if (const Value* target = schema.find("$ref")) {
      const Value* definition = resolve(*target);
      return definition == nullptr ? defect("$ref") : check(value, *definition, pointer, out, depth + 1);
    }
    const Value::Object* keywords = schema.if_object();
    if (keywords == nullptr) return defect("a schema that is no object");
    if (!type_fits(value, schema)) {
      add(out, value, pointer, "wrong type", type_text(schema));
      return {};  // the rest would only say the same
    }
    for (const auto& [keyword, argument] : *keywords)
      CALKIT_CHECK_OK(check_keyword(keyword, argument, value, schema, pointer, out, depth));
    return {};
  }

 private:
  static Error defect(std::string_view what) {
    return Error(ErrorKind::kInternal, fmt::format("an embedded schema has an unknown or broken keyword: {}", what));
  }

  static void add(std::vector<ManifestProblem>& out, const Value& value, std::string pointer, std::string message,
                  std::string allowed, std::string nearest = {}) {
    out.push_back({value.line, value.column, std::move(pointer), std::move(message), value.describe(),
                   std::move(allowed), std::move(nearest)});
  }

  const Value* resolve(const Value& reference) const {
    constexpr std::string_view kPrefix = "#/definitions/";
    const std::string* text = reference.if_string();
    const Value* definitions = root_.find("definitions");
    if (text == nullptr || !text->starts_with(kPrefix) || definitions == nullptr) return nullptr;
    return definitions->find(text->substr(kPrefix.size()));
  }

  static bool is_type(const Value& value, std::string_view type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_bool();
    if (type == "null") return value.is_null();
    if (type == "integer") return value.is_integer();
    return type == "number" && (value.is_integer() || value.is_double());
  }

  static std::vector<std::string> types_of(const Value& schema) {
    std::vector<std::string> out;
    const Value* type = schema.find("type");
    if (type != nullptr && type->is_string()) out.push_back(*type->if_string());
    if (type != nullptr && type->is_array())
      for (const auto& item : *type->if_array())
        if (item.is_string()) out.push_back(*item.if_string());
    return out;
  }

  static bool type_fits(const Value& value, const Value& schema) {
    const auto types = types_of(schema);
    return types.empty() ||
           std::any_of(types.begin(), types.end(), [&](const auto& type) { return is_type(value, type); });
  }

  static std::string type_text(const Value& schema) {
    std::string out;
    for (const auto& type : types_of(schema)) {
      const bool vowel = type == "array" || type == "object" || type == "integer";
      out += (out.empty() ? "" : " or ") + (type == "null" ? type : (vowel ? "an " : "a ") + type);
    }
    return out + bounds_text(schema);
  }

  static std::string number_text(const Value& value) { return to_json(value, {true, -1}); }

  static std::string bounds_text(const Value& schema) {
    const Value *low = schema.find("minimum"), *high = schema.find("maximum");
    if (low != nullptr && high != nullptr) return fmt::format(" from {} to {}", number_text(*low), number_text(*high));
    if (low != nullptr) return fmt::format(" >= {}", number_text(*low));
    return high != nullptr ? fmt::format(" <= {}", number_text(*high)) : std::string();
  }

  /// Exact for integers of 64 bits, which a double is not.
  static bool less(const Value& a, const Value& b) {
    if (a.is_integer() && b.is_integer()) {
      if (const auto x = a.if_int(), y = b.if_int(); x && y) return *x < *y;
      return a.if_int().has_value();  // what has no int is above all ints; two of them are compared below
    }
    return a.if_number().value_or(0) < b.if_number().value_or(0);
  }

  Status check_keyword(const std::string& keyword, const Value& argument, const Value& value, const Value& schema,
                       const std::string& pointer, std::vector<ManifestProblem>& out, int depth) const {
    for (const char* silent : {"$schema", "title", "description", "definitions", "type", "then", "else",
                               "patternProperties", "additionalProperties"})
      if (keyword == silent) return {};
    if (keyword == "const") {
      if (value != argument) add(out, value, pointer, "wrong value", number_text(argument));
      return {};
    }
    if (keyword == "enum") return check_enum(argument, value, pointer, out);
    if (keyword == "minimum" || keyword == "maximum") {
      const bool bad = keyword == "minimum" ? less(value, argument) : less(argument, value);
      if (value.if_number() && bad) add(out, value, pointer, "out of range", type_text(schema));
      return {};
    }
    if (keyword == "minLength") {
      const std::string* text = value.if_string();
      if (text != nullptr && text->size() < argument.if_uint().value_or(0))
        add(out, value, pointer, "empty", "a text that is not empty");
      return {};
    }
    if (keyword == "pattern") return check_pattern(argument, value, schema, pointer, out);
    if (keyword == "required") return check_required(argument, value, pointer, out);
    if (keyword == "properties") return check_members(value, schema, pointer, out, depth);
    if (keyword == "items") return check_items(argument, value, pointer, out, depth);
    if (keyword == "minItems" || keyword == "maxItems") {
      const auto* items = value.if_array();
      const auto limit = argument.if_uint().value_or(0);
      if (items != nullptr && (keyword == "minItems" ? items->size() < limit : items->size() > limit))
        add(out, value, pointer, "wrong length",
            fmt::format("{} {} items", keyword == "minItems" ? "at least" : "at most", limit));
      return {};
    }
    if (keyword == "anyOf" || keyword == "oneOf") return check_any(argument, value, pointer, out, depth);
    if (keyword == "if") return check_if(argument, value, schema, pointer, out, depth);
    return defect(keyword);
  }

  static Status check_enum(const Value& allowed, const Value& value, const std::string& pointer,
                           std::vector<ManifestProblem>& out) {
    const Value::Array* words = allowed.if_array();
    if (words == nullptr) return defect("enum");
    std::vector<std::string> known;
    std::string list;
    for (const auto& word : *words) {
      if (word == value) return {};
      if (word.is_string()) known.push_back(*word.if_string());
      list += (list.empty() ? "" : " | ") + (word.is_string() ? *word.if_string() : number_text(word));
    }
    add(out, value, pointer, "unknown word", list, value.is_string() ? nearest_word(*value.if_string(), known) : "");
    return {};
  }

  static Status check_pattern(const Value& pattern, const Value& value, const Value& schema, const std::string& pointer,
                              std::vector<ManifestProblem>& out) {
    if (!pattern.is_string()) return defect("pattern");
    if (!value.is_string()) return {};
    const std::string& text = *value.if_string();
    const Value* words = schema.find("description");
    const std::string allowed =
        words != nullptr && words->is_string() ? *words->if_string() : "text of the form " + *pattern.if_string();
    bool fits = false;
    try {
      fits = text.size() <= kMaxPatternText && std::regex_search(text, std::regex(*pattern.if_string()));
    } catch (const std::regex_error& error) {
      return defect(error.what());
    }
    if (!fits) add(out, value, pointer, "wrong form", allowed);
    return {};
  }

  static Status check_required(const Value& keys, const Value& value, const std::string& pointer,
                               std::vector<ManifestProblem>& out) {
    if (!keys.is_array()) return defect("required");
    if (!value.is_object()) return {};
    for (const auto& key : *keys.if_array()) {
      if (!key.is_string()) return defect("required");
      if (value.find(*key.if_string()) != nullptr) continue;
      out.push_back({value.line, value.column, pointer + "/" + *key.if_string(), "required key missing", "nothing",
                     "a value for this key", ""});
    }
    return {};
  }

  Status check_members(const Value& value, const Value& schema, const std::string& pointer,
                       std::vector<ManifestProblem>& out, int depth) const {
    const Value::Object* members = value.if_object();
    const Value* known = schema.find("properties");
    if (members == nullptr) return {};
    for (const auto& [key, member] : *members) {
      const std::string place = pointer + "/" + pointer_step(key);
      if (const Value* rule = known->find(key)) {
        CALKIT_CHECK_OK(check(member, *rule, place, out, depth + 1));
        continue;
      }
      CALKIT_TRY(const Value* rule, rule_of_unknown_key(key, schema));
      if (rule == nullptr) {
        add_unknown_key(key, member, *known, value, place, out);
      } else if (rule->is_object()) {
        CALKIT_CHECK_OK(check(member, *rule, place, out, depth + 1));
      }
    }
    return {};
  }

  /// The schema for a key that `properties` does not name: by pattern, or by additionalProperties; nullptr: refused.
  static Result<const Value*> rule_of_unknown_key(const std::string& key, const Value& schema) {
    static const Value anything(true);
    if (const Value* patterns = schema.find("patternProperties")) {
      if (!patterns->is_object()) return defect("patternProperties");
      for (const auto& [pattern, rule] : *patterns->if_object())
        if (key.size() <= kMaxPatternText && std::regex_search(key, std::regex(pattern))) return &rule;
    }
    const Value* more = schema.find("additionalProperties");
    if (more == nullptr) return &anything;
    if (const bool* allowed = more->if_bool()) return *allowed ? &anything : nullptr;
    return more;
  }

  static void add_unknown_key(const std::string& key, const Value& member, const Value& known, const Value& object,
                              const std::string& pointer, std::vector<ManifestProblem>& out) {
    std::vector<std::string> free, all;
    for (const auto& [name, rule] : *known.if_object()) {
      all.push_back(name);
      if (object.find(name) == nullptr) free.push_back(name);
    }
    std::string near = nearest_word(key, free);
    if (near.empty()) near = nearest_word(key, all);
    out.push_back({member.line, member.column, pointer, "unknown key", fmt::format("'{}'", printable(key)),
                   fmt::format("{}", fmt::join(all, ", ")), std::move(near)});
  }

  Status check_items(const Value& rule, const Value& value, const std::string& pointer,
                     std::vector<ManifestProblem>& out, int depth) const {
    const Value::Array* items = value.if_array();
    if (items == nullptr) return {};
    for (std::size_t i = 0; i < items->size(); ++i)
      CALKIT_CHECK_OK(check((*items)[i], rule, fmt::format("{}/{}", pointer, i), out, depth + 1));
    return {};
  }

  /// Tells the problems of the alternative that fits best.
  Status check_any(const Value& rules, const Value& value, const std::string& pointer,
                   std::vector<ManifestProblem>& out, int depth) const {
    if (!rules.is_array() || rules.if_array()->empty()) return defect("anyOf");
    std::vector<ManifestProblem> best;
    for (std::size_t i = 0; i < rules.if_array()->size(); ++i) {
      std::vector<ManifestProblem> problems;
      CALKIT_CHECK_OK(check(value, (*rules.if_array())[i], pointer, problems, depth + 1));
      if (problems.empty()) return {};
      if (i == 0 || problems.size() < best.size()) best = std::move(problems);
    }
    out.insert(out.end(), best.begin(), best.end());
    return {};
  }

  Status check_if(const Value& condition, const Value& value, const Value& schema, const std::string& pointer,
                  std::vector<ManifestProblem>& out, int depth) const {
    std::vector<ManifestProblem> problems;
    CALKIT_CHECK_OK(check(value, condition, pointer, problems, depth + 1));
    const Value* branch = schema.find(problems.empty() ? "then" : "else");
    return branch == nullptr ? Status() : check(value, *branch, pointer, out, depth + 1);
  }

  const Value& root_;
};

}  // namespace

Result<std::vector<ManifestProblem>> check_schema(const Value& document, const Value& schema) {
  std::vector<ManifestProblem> out;
  CALKIT_CHECK_OK(Checker(schema).check(document, schema, "", out));
  std::stable_sort(out.begin(), out.end(), [](const ManifestProblem& a, const ManifestProblem& b) {
    return std::tie(a.line, a.column, a.pointer) < std::tie(b.line, b.column, b.pointer);
  });
  return out;
}

}  // namespace calkit::manifest
