/// Names on the command line: profiles, severities, rules and families.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calkit/base/document.h"
#include "calkit/lint/policy.h"

namespace calkit::lint {

namespace {

/// Each family's number and name, in order.
constexpr Family kFamilies[] = {
    {"01", "files"},      {"02", "schema"}, {"03", "submodels"}, {"04", "contract"}, {"05", "memory"},
    {"06", "params"},     {"07", "alias"},  {"08", "units"},     {"09", "chips"},    {"10", "commands"},
    {"11", "provenance"}, {"12", "golden"}, {"13", "quant"},
};

std::vector<RuleInfo> rules_named(std::string_view word) {
  std::vector<RuleInfo> out;
  for (const auto& rule : rules()) {
    const Family family = family_of(rule.id);
    if (word == rule.id || word == rule.name || word == family.number || word == family.name) out.push_back(rule);
  }
  return out;
}

Error unknown_word(std::string_view flag, const std::string& word) {
  std::vector<std::string> known;
  for (const auto& family : kFamilies) known.emplace_back(family.name);
  for (const auto& rule : rules()) {
    known.emplace_back(rule.name);
    known.emplace_back(rule.id);
  }
  const auto near = nearest_word(word, known);
  return Error(ErrorKind::kUsage, fmt::format("{}: '{}' is no rule and no family of rules", flag, word),
               near.empty() ? "see `calkit calbin-lint --list-rules`" : fmt::format("did you mean {}?", near));
}

Result<std::vector<RuleInfo>> resolve(std::string_view flag, const std::vector<std::string>& words) {
  std::vector<RuleInfo> out;
  for (const auto& word : words) {
    const auto found = rules_named(word);
    if (found.empty()) return unknown_word(flag, word);
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

/// Blockers cannot be left out: says which they are, and which rules of the family can.
Status refuse_blockers(const std::vector<std::string>& words) {
  for (const auto& word : words) {
    std::string blockers, others;
    for (const auto& rule : rules_named(word)) {
      std::string& list = rule.severity == Severity::kBlocker ? blockers : others;
      list += fmt::format("{}{}", list.empty() ? "" : ",", rule.id);
    }
    if (blockers.empty()) continue;
    return Error(ErrorKind::kUsage, fmt::format("--ignore {}: blockers cannot be ignored: {}", word, blockers),
                 others.empty() ? "repair the package" : fmt::format("of this family --ignore {} is allowed", others));
  }
  return {};
}

}  // namespace

Family family_of(std::string_view id) {
  for (const auto& family : kFamilies)
    if (id.size() >= 4 && id.substr(2, 2) == family.number) return family;
  return {"", "unknown"};
}

Result<Policy> policy_of_profile(std::string_view profile) {
  Policy policy;
  policy.profile = profile;
  if (profile == "ci") return policy;
  if (profile == "dev") {
    policy.fail_on = Severity::kBlocker;
    policy.allow_stale_waivers = true;
    return policy;
  }
  if (profile == "vendor") {
    policy.fail_on = Severity::kWarning;
    policy.strict = true;
    return policy;
  }
  if (profile == "bundle") {
    policy.strict = policy.links_are_errors = true;
    return policy;
  }
  return Error(ErrorKind::kUsage, fmt::format("--profile is '{}'; allowed: vendor, dev, ci, bundle", profile));
}

Result<Severity> parse_severity(std::string_view text) {
  for (const Severity severity : {Severity::kBlocker, Severity::kError, Severity::kWarning, Severity::kInfo})
    if (text == severity_name(severity)) return severity;
  return Error(ErrorKind::kUsage, fmt::format("--fail-on is '{}'; allowed: blocker, error, warning, info", text));
}

Result<std::vector<std::string>> choose_rules(const std::vector<std::string>& select,
                                              const std::vector<std::string>& ignore) {
  CALKIT_TRY(const auto wanted, resolve("--select", select));
  CALKIT_TRY(const auto unwanted, resolve("--ignore", ignore));
  CALKIT_CHECK_OK(refuse_blockers(ignore));
  std::set<std::string, std::less<>> out;
  for (const auto& rule : rules())
    if (select.empty() || rule.severity == Severity::kBlocker) out.emplace(rule.id);
  for (const auto& rule : wanted) out.emplace(rule.id);
  for (const auto& rule : unwanted) out.erase(std::string(rule.id));
  return std::vector<std::string>(out.begin(), out.end());
}

}  // namespace calkit::lint
