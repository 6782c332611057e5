/// Whether the canonical side of a dialect exists. The reader of descriptions is asked, so that nobody keeps a second
/// list of its fields and words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "calkit/base/document.h"
#include "calkit/base/json_pointer.h"
#include "calkit/calbin/reading.h"
#include "dialect_parts.h"

namespace calkit::calbin {

namespace {

/// {"models": [{"name": leaf}]} of models, *, name.
Value nested(const std::vector<std::string>& steps, std::size_t at, const Value& leaf) {
  if (at == steps.size()) return leaf;
  if (steps[at] != "*") return Value::object({{steps[at], nested(steps, at + 1, leaf)}});
  Value list = Value::array();
  list.push(nested(steps, at + 1, leaf));
  return list;
}

/// What the reader says of `leaf` at the place of `to`; nullopt: nothing of that kind.
std::optional<Problem> said_of(const std::vector<std::string>& steps, const Value& leaf, ProblemKind kind) {
  Value document = nested(steps, 0, leaf);
  if (steps[0] != "schema") document.set("schema", 1);
  std::string pointer;
  for (const auto& step : steps) pointer += "/" + (step == "*" ? "0" : pointer_step(step));
  for (auto& problem : read_description(Cursor(document, "calbin.json")).problems)
    if (problem.kind == kind && (pointer + "/").starts_with(problem.pointer + "/")) return std::move(problem);
  return std::nullopt;
}

/// The reader takes any text as a submodel's type, and leaves the word to lint.
std::optional<std::string> unknown_type(const std::vector<std::string>& steps, const Value& word) {
  if (steps != std::vector<std::string>{"submodels", "*", "type"} || !word.is_string()) return std::nullopt;
  if (std::find(kSubmodelTypes.begin(), kSubmodelTypes.end(), *word.if_string()) != kSubmodelTypes.end())
    return std::nullopt;
  return fmt::format("{}", fmt::join(kSubmodelTypes, ", "));
}

std::string nearest_hint(const std::string& word) {
  const std::string near = nearest_word(word, {kSubmodelTypes.begin(), kSubmodelTypes.end()});
  return near.empty() ? "" : fmt::format("did you mean {}?", near);
}

Status check_mapping(const Cursor& mapping) {
  CALKIT_TRY(const auto to, mapping.at("to"));
  CALKIT_TRY(const std::string text, to.as_string());
  const auto steps = steps_of(text);
  if (steps.empty()) return {};
  if (const auto problem = said_of(steps, "x", ProblemKind::kUnknownKey))
    return to.error(fmt::format("'{}'", text), fmt::format("a field of calbin.json ({})", problem->allowed),
                    problem->hint);
  const auto words = mapping.find("enum");
  if (!words) return {};
  CALKIT_TRY(const auto members, words->members());
  for (const auto& [theirs, ours] : members) {
    if (const auto words_due = unknown_type(steps, ours.value()))
      return ours.error(ours.value().describe(), fmt::format("for {}: {}", text, *words_due),
                        nearest_hint(*ours.value().if_string()));
    if (const auto problem = said_of(steps, ours.value(), ProblemKind::kWrongType))
      return ours.error(ours.value().describe(), fmt::format("for {}: {}", text, problem->allowed), problem->hint);
  }
  return {};
}

}  // namespace

Status check_dialect_targets(std::string_view yaml, std::string_view file) {
  CALKIT_TRY(const Value document, parse_yaml(yaml, file));
  const Cursor root(document, std::string(file));
  CALKIT_TRY(const auto map, root.at("map"));
  if (map.value().is_string()) return {};
  CALKIT_TRY(const auto items, map.items());
  for (const auto& item : items) CALKIT_CHECK_OK(check_mapping(item));
  return {};
}

}  // namespace calkit::calbin
