/// From findings to a verdict.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calkit/lint/policy.h"

namespace calkit::lint {

namespace {

const RuleOutcome* outcome_of(const Report& report, std::string_view id) {
  const auto at =
      std::lower_bound(report.rules.begin(), report.rules.end(), id,
                       [](const RuleOutcome& outcome, std::string_view wanted) { return outcome.rule.id < wanted; });
  return at != report.rules.end() && at->rule.id == id ? &*at : nullptr;
}

void drop_unselected(Report& report, const std::vector<std::string>& chosen) {
  const auto is_chosen = [&](std::string_view id) { return std::binary_search(chosen.begin(), chosen.end(), id); };
  for (auto& outcome : report.rules) {
    if (is_chosen(outcome.rule.id)) continue;
    outcome.status = RuleStatus::kNotApplicable;
    outcome.reason = "left out by --select or --ignore";
    report.unselected.emplace_back(outcome.rule.id);
  }
  std::erase_if(report.findings, [&](const Finding& finding) { return !is_chosen(finding.rule); });
}

void raise_to_error(Report& report, std::string_view id) {
  for (auto& finding : report.findings)
    if (finding.rule == id && finding.severity == Severity::kWarning) finding.severity = Severity::kError;
  for (auto& outcome : report.rules) {
    if (outcome.rule.id != id) continue;
    outcome.rule.severity = std::max(outcome.rule.severity, Severity::kError);
    outcome.rule.maturity = Maturity::kStable;  // a preview finding would not fail
  }
}

void apply_waivers(Report& report, const std::vector<Waiver>& waivers, std::string_view today) {
  for (const auto& waiver : waivers) {
    const bool expired = today > waiver.expires;
    bool used = false;
    for (auto& finding : report.findings) {
      if (finding.rule != waiver.rule || finding.fingerprint != waiver.fingerprint) continue;
      used = true;
      if (!expired) finding.waiver = waiver;
    }
    // Of a rule that did not run to its end nobody can say that a waiver is unused.
    const RuleOutcome* outcome = outcome_of(report, waiver.rule);
    const bool ran =
        outcome != nullptr && (outcome->status == RuleStatus::kPass || outcome->status == RuleStatus::kFail);
    if (expired ? (used || ran) : (!used && ran)) report.stale.push_back({waiver, expired});
  }
}

/// A rule whose findings are all waived passes, and says so.
void pass_waived_rules(Report& report) {
  std::map<std::string_view, std::pair<int, int>> counts;  // rule -> waived, live
  for (const auto& finding : report.findings) {
    if (finding.waiver)
      ++counts[finding.rule].first;
    else if (finding.severity != Severity::kInfo)
      ++counts[finding.rule].second;
  }
  for (auto& outcome : report.rules) {
    const auto at = counts.find(outcome.rule.id);
    if (at == counts.end() || at->second.first == 0) continue;
    const int waived = at->second.first;
    if (outcome.status == RuleStatus::kFail && at->second.second == 0) outcome.status = RuleStatus::kPass;
    outcome.reason +=
        fmt::format("{}{} finding{} waived", outcome.reason.empty() ? "" : "; ", waived, waived == 1 ? " is" : "s are");
  }
}

Verdict verdict_of(const Report& report) {
  const Severity least = std::min(Severity::kError, report.policy.fail_on);
  const bool open = std::any_of(report.rules.begin(), report.rules.end(), [&](const RuleOutcome& outcome) {
    return outcome.status == RuleStatus::kNotEvaluated && outcome.rule.severity >= least &&
           (outcome.rule.maturity == Maturity::kStable || report.policy.preview);
  });
  if (open) return Verdict::kIncomplete;
  const bool failed = std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& finding) {
    return report.counts(finding) && finding.severity >= report.policy.fail_on;
  });
  const bool stale = !report.stale.empty() && !report.policy.allow_stale_waivers;
  return failed || stale ? Verdict::kFail : Verdict::kPass;
}

}  // namespace

bool Report::counts(const Finding& finding) const {
  if (finding.waiver) return false;
  const RuleOutcome* outcome = outcome_of(*this, finding.rule);
  return policy.preview || outcome == nullptr || outcome->rule.maturity == Maturity::kStable;
}

void judge(Report& report, const Policy& policy, const std::vector<std::string>& chosen, const WaiverFile* waivers,
           std::string_view today) {
  report.policy = policy;
  report.stale.clear();
  report.unselected.clear();
  drop_unselected(report, chosen);
  if (policy.strict)
    for (const char* id : {"CB0104", "CB0203"}) raise_to_error(report, id);
  if (policy.links_are_errors) raise_to_error(report, "CB0107");
  if (waivers != nullptr) {
    report.waivers_digest = waivers->digest;
    apply_waivers(report, waivers->waivers, today);
    pass_waived_rules(report);
  }
  report.verdict = verdict_of(report);
}

}  // namespace calkit::lint
