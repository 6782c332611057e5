/// Family 02: calbin.json and the op lists can be read, say what they must, and name exact versions.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "calkit/base/text.h"
#include "families.h"

namespace calkit::lint {

namespace {

using calbin::Problem;
using calbin::ProblemKind;

template <class Say>
void each_problem(Check& check, ProblemKind kind, Say say) {
  for (const auto& problem : check.facts().reading.problems)
    if (problem.kind == kind) check.report(problem.pointer, say(problem));
}

/// The rules that cannot be evaluated without this field.
std::string rules_without(const Problem& problem) {
  std::string out;
  for (const auto& rule : rule_table()) {
    const bool needed = std::any_of(rule.needs.begin(), rule.needs.end(),
                                    [&](std::string_view need) { return pointer_matches(problem.pointer, need); });
    if (needed) out += fmt::format("{}{}", out.empty() ? "" : " ", rule.info.id);
  }
  return out.empty() ? "no rule reads it" : "not evaluated without it: " + out;
}

std::string_view place_text(std::string_view pointer) {
  return pointer.empty() ? "the description" : pointer;
}

bool is_exact_version(const std::string& text) {
  const auto end = text.find_first_of("-+");
  const auto numbers = split(std::string_view(text).substr(0, end), '.');
  const bool plain = std::all_of(numbers.begin(), numbers.end(), [](const std::string& number) {
    return parse_decimal_u64(number).has_value() && (number.size() == 1 || number[0] != '0');
  });
  return numbers.size() == 3 && plain && (end == std::string::npos || end + 1 < text.size());
}

/// Each thing that a reader of documents refuses has a rule of its own.
std::string_view rule_of(ReadProblem problem) {
  switch (problem) {
    case ReadProblem::kDuplicateKey:
      return "CB0202";
    case ReadProblem::kScalar:
      return "CB0205";
    case ReadProblem::kNumber:
      return "CB0207";
    case ReadProblem::kYamlFeature:
      return "CB0210";
    case ReadProblem::kLimit:
      return "CB0211";
    default:
      return "CB0201";
  }
}

bool is_yaml(std::string_view file) {
  return file.ends_with(".yaml") || file.ends_with(".yml");
}

void report_listed(Check& check, const ListedDocument& document, const char* what, const char* page) {
  if (document.error.empty() || rule_of(document.problem) != check.rule().id) return;
  check.report_in(
      document.path, {}, 0,
      {fmt::format("the {} of '{}' could not be read", what, check.d().submodels[document.submodel].name),
       document.error, fmt::format("a document of docs/formats/{}", page), "copy the package again, or pack it again"},
      check.rule().severity);
}

/// Op lists and I/O maps whose text was refused for this rule's reason.
void report_listed(Check& check) {
  for (const auto& list : check.facts().oplists) report_listed(check, list, "op list", "oplist.md");
  for (const auto& map : check.facts().iomaps) report_listed(check, map, "I/O map", "calbin.md");
}

void report_unreadable(Check& check, const std::string& fix) {
  const auto& error = *check.facts().unreadable;
  check.report("", {"the description could not be read", error.message, "one JSON document of docs/formats/calbin.md",
                    error.hint.empty() ? fix : error.hint});
}

}  // namespace

std::string_view rule_of_unreadable(const Facts& facts) {
  if (facts.unreadable) return rule_of(facts.unreadable->read_problem);
  if (!facts.document || facts.schema_known) return "";
  return facts.document->is_object() ? "CB0206" : "CB0205";
}

namespace {

void check_metadata_readable(Check& check) {
  if (check.facts().unreadable) return report_unreadable(check, "copy the package again, or pack it again");
  if (check.facts().canonical && check.facts().canonical->byte_order_mark)
    check.report_in(check.facts().file, {}, 1,
                    {"the description begins with a byte order mark", "EF BB BF", "UTF-8 without one",
                     "save the file without a BOM; other readers refuse it"},
                    Severity::kWarning);
  report_listed(check);
}

void check_duplicate_key(Check& check) {
  if (check.facts().unreadable)
    return report_unreadable(check, "keep one of the two; which one counts must not be left to the reader");
  report_listed(check);
  each_problem(check, ProblemKind::kDuplicateId, [](const Problem& p) {
    const bool name = p.pointer.ends_with("/name");
    return Check::Said{name ? "a name is given twice" : "an id is given twice", p.found, p.allowed, p.hint};
  });
}

/// "/models/*: n_ctx, n_seq; /kv_cache: bytes": keys by the object they stand in.
std::string by_object(const std::vector<std::string>& patterns) {
  std::map<std::string, std::string> groups;
  for (const auto& pattern : patterns) {
    const auto slash = pattern.rfind('/');
    auto& keys = groups[slash == 0 ? "/" : pattern.substr(0, slash)];
    keys += (keys.empty() ? "" : ", ") + pattern.substr(slash + 1);
  }
  std::string out;
  for (const auto& [object, keys] : groups) out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", object, keys);
  return out;
}

/// Keys of the producer that nobody described, and one note each on what was read by an assumption or has a quirk.
void report_dialect(Check& check) {
  if (!check.facts().canonical) return;
  const auto& canonical = *check.facts().canonical;
  const std::string dialect = fmt::format("dialect {} version {}", canonical.dialect, canonical.dialect_version);
  for (const auto& key : canonical.unmapped)
    check.report_in(canonical.file, key.pointer, key.line,
                    {fmt::format("{} is no key of {}", key.pointer, dialect), fmt::format("key '{}'", key.pointer),
                     key.nearest.empty() ? "the keys the dialect maps or ignores"
                                         : fmt::format("'{}' is the nearest key", key.nearest),
                     "ask the producer what it means, then map it or list it under ignored"},
                    canonical.unmapped_is_error ? check.rule().severity : Severity::kWarning);
  if (!canonical.assumed.empty())
    check.report_in(canonical.file, {}, 0,
                    {fmt::format("{} keys were read by assumed mappings of {}", canonical.assumed.size(), dialect),
                     by_object(canonical.assumed), "keys that the producer has confirmed",
                     "have the producer confirm or correct them in the dialect"},
                    Severity::kInfo);
  for (const auto& [key, note] : canonical.quirks)
    check.report_in(canonical.file, {}, 0,
                    {fmt::format("a known quirk of {}", key), note, "nothing: the value was taken as it is",
                     "keep it in mind when a rule reports this field"},
                    Severity::kInfo);
}

void check_unknown_key(Check& check) {
  each_problem(check, ProblemKind::kUnknownKey, [](const Problem& p) {
    return Check::Said{fmt::format("unknown field {}", p.pointer), p.found, p.allowed, p.hint};
  });
  report_dialect(check);
}

void check_required_field(Check& check) {
  each_problem(check, ProblemKind::kMissing, [](const Problem& p) {
    const bool dangling = p.found != "nothing" && p.found != "null";
    return Check::Said{dangling ? fmt::format("{} names something that is not there", p.pointer)
                                : fmt::format("required field {} is missing", p.pointer),
                       fmt::format("{} ({})", p.found, rules_without(p)), p.allowed,
                       p.hint.empty() ? "have the producer state it; nothing is assumed in its place" : p.hint};
  });
}

void check_field_type(Check& check) {
  if (check.facts().unreadable)
    return report_unreadable(check, "write plain decimals, true or false; quote what is text");
  each_problem(check, ProblemKind::kWrongType, [](const Problem& p) {
    return Check::Said{fmt::format("{} has the wrong type or an unknown word", place_text(p.pointer)), p.found,
                       p.allowed, p.hint.empty() ? "correct the producer; values are never converted" : p.hint};
  });
}

void check_schema(Check& check) {
  each_problem(check, ProblemKind::kSchema, [](const Problem& p) {
    return Check::Said{"the schema number is not one this version reads", p.found, p.allowed, p.hint};
  });
}

void check_number_range(Check& check) {
  if (check.facts().unreadable)
    return report_unreadable(
        check, "correct the producer; sizes end at 2^53-1, addresses are \"0x...\" strings of at most 64 bits");
  report_listed(check);
  each_problem(check, ProblemKind::kOutOfRange, [](const Problem& p) {
    return Check::Said{fmt::format("the number {} is out of range", p.pointer), p.found, p.allowed,
                       p.hint.empty()
                           ? "correct the producer; a size above 2^53-1 is damage or an address in the wrong place"
                           : p.hint};
  });
}

void check_yaml_feature(Check& check) {
  if (check.facts().unreadable)
    return report_unreadable(check, "write each value where it stands: plain mappings, sequences and scalars");
  if (!is_yaml(check.facts().file)) check.not_applicable("the description is JSON");
}

void check_limits(Check& check) {
  if (check.facts().unreadable)
    return report_unreadable(check, "split the description, or have the producer write a flatter one");
  report_listed(check);
}

void check_version(Check& check) {
  if (!check.usable("/package/version")) return;
  const std::string& version = check.d().version;
  if (!is_exact_version(version))
    check.report("/package/version", {"the package's version is not exact", fmt::format("'{}'", version),
                                      "MAJOR.MINOR.PATCH, all numbers", "name the one version this package is"});
  if (check.service() == nullptr) return check.left_out("no --service given: not compared with calbin_version");
  const std::string& wanted = check.service()->calbin_version;
  if (wanted != version)
    check.report(
        "/package/version",
        {"the service was written for another version of this package", fmt::format("'{}'", version),
         fmt::format("service manifest calbin_version '{}'", wanted), "take that package, or update the manifest"});
}

}  // namespace

std::vector<Rule> description_rules() {
  return {
      {{"CB0201", "metadata-unreadable", Severity::kBlocker, RuleClass::kMalformed,
        "calbin.json, every op list and every I/O map can be read", "§6.9"},
       {},
       &check_metadata_readable},
      {{"CB0202", "duplicate-key", Severity::kBlocker, RuleClass::kMalformed,
        "no key, no id and no name that is used as one is given twice", "§6.9"},
       {},
       &check_duplicate_key},
      {{"CB0203", "unknown-key", Severity::kError, RuleClass::kMalformed,
        "every key is a field of the schema or begins with x-", "§6.9"},
       {},
       &check_unknown_key},
      {{"CB0204", "required-field-missing", Severity::kError, RuleClass::kMalformed,
        "required fields, and what fields name, are there", "§6.9"},
       {},
       &check_required_field},
      {{"CB0205", "wrong-type", Severity::kError, RuleClass::kMalformed,
        "every field has its type and one of its words", "§6.9"},
       {},
       &check_field_type},
      {{"CB0206", "schema-unsupported", Severity::kError, RuleClass::kIncompatible,
        "the schema number is one this version reads", "10a"},
       {},
       &check_schema},
      {{"CB0207", "number-out-of-range", Severity::kError, RuleClass::kMalformed,
        "every number is within its field's range", "§6.9"},
       {},
       &check_number_range},
      {{"CB0208", "version-ambiguous", Severity::kError, RuleClass::kInvalid,
        "the package's version is exact and the one the service names", "§7b"},
       {"/package/version"},
       &check_version},
      {{"CB0210", "yaml-feature-forbidden", Severity::kError, RuleClass::kMalformed,
        "a YAML description is plain mappings, sequences and scalars", "10a"},
       {},
       &check_yaml_feature},
      {{"CB0211", "limits-exceeded", Severity::kError, RuleClass::kMalformed,
        "the description, the op lists and the I/O maps keep the reader's limits of size, depth, entries and strings",
        "9c"},
       {},
       &check_limits},
  };
}

}  // namespace calkit::lint
