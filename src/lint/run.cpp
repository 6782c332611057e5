#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "calkit/lint/policy.h"
#include "families.h"
#include "identity.h"

namespace calkit::lint {

namespace {

/// The rules that say why calbin.json could not be read; all others need it.
RuleOutcome without_document(const Facts& facts, const Rule& rule, std::string_view culprit,
                             std::vector<Finding>& findings) {
  Check check(facts, rule);
  if (rule.info.id == culprit)
    rule.check(check);
  else
    check.not_evaluated(fmt::format("calbin.json could not be read ({})", culprit));
  RuleOutcome out = check.outcome();
  for (auto& finding : check.take_findings()) findings.push_back(std::move(finding));
  return out;
}

std::string package_name(const std::filesystem::path& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error).lexically_normal();
  return absolute.has_filename() ? absolute.filename().string() : absolute.parent_path().filename().string();
}

}  // namespace

Result<Report> run(const Inputs& inputs) {
  CALKIT_TRY(const Facts facts, gather(inputs));
  Report report;
  report.package = package_name(inputs.package);
  report.package_digest = facts.digest;
  report.service_digest = inputs.service_digest;
  report.profile = facts.profile.name;
  if (facts.canonical) {
    report.dialect = facts.canonical->dialect;
    report.dialect_version = facts.canonical->dialect_version;
    report.dialect_digest = facts.canonical->dialect_digest;
  }
  if (auto whole = tree_digest(*facts.tree, facts.digests); whole.ok()) report.tree = std::move(whole).value();
  const std::string_view culprit = rule_of_unreadable(facts);
  for (const auto& rule : rule_table()) {
    if (!culprit.empty()) {
      report.rules.push_back(without_document(facts, rule, culprit, report.findings));
      continue;
    }
    Check check(facts, rule);
    rule.check(check);
    if (check.failure()) return std::move(*check.failure());
    report.rules.push_back(check.outcome());
    for (auto& finding : check.take_findings()) report.findings.push_back(std::move(finding));
  }
  std::stable_sort(report.findings.begin(), report.findings.end(), [](const Finding& a, const Finding& b) {
    return std::tie(a.rule, a.file, a.line, a.pointer) < std::tie(b.rule, b.file, b.line, b.pointer);
  });
  identify(facts, report.findings);
  for (const auto& submodel : facts.description().submodels) report.submodels.push_back(submodel.name);
  static const auto all = choose_rules({}, {});
  if (!all.ok()) return all.error();
  judge(report, {}, *all, nullptr, {});
  return report;
}

std::uint64_t Report::count(Severity severity) const {
  return static_cast<std::uint64_t>(std::count_if(findings.begin(), findings.end(), [&](const Finding& finding) {
    return counts(finding) && finding.severity == severity;
  }));
}

std::uint64_t Report::count(RuleStatus status) const {
  return static_cast<std::uint64_t>(
      std::count_if(rules.begin(), rules.end(), [&](const RuleOutcome& outcome) { return outcome.status == status; }));
}

}  // namespace calkit::lint
