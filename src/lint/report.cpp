#include <fmt/format.h>

#include <algorithm>

#include "calkit/lint/lint.h"

namespace calkit::lint {

namespace {

struct Colours {
  const char *red, *yellow, *blue, *bold, *off;
};
constexpr Colours kPlain{"", "", "", "", ""};
constexpr Colours kBright{"\x1b[1;31m", "\x1b[1;33m", "\x1b[1;34m", "\x1b[1m", "\x1b[0m"};

/// What a text says of a severity: blockers stop a package as errors do, and cannot be waived.
const char* level_name(Severity severity) {
  if (severity >= Severity::kError) return "error";
  return severity == Severity::kWarning ? "warning" : "note";
}

std::string indented(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '\n') out += "         ";
  }
  return out;
}

std::string place_of(const Finding& finding) {
  std::string out = finding.file;
  if (!finding.pointer.empty()) out += "#" + finding.pointer;
  if (finding.line != 0) out += fmt::format(" (line {})", finding.line);
  return out;
}

Value finding_value(const Finding& finding) {
  Value out = Value::object({{"rule", finding.rule},
                             {"severity", severity_name(finding.severity)},
                             {"file", finding.file},
                             {"pointer", finding.pointer},
                             {"message", finding.message},
                             {"found", finding.found},
                             {"limit", finding.limit},
                             {"fix", finding.fix}});
  out.set("line", finding.line != 0 ? Value(finding.line) : Value(nullptr));
  return out;
}

Value rule_value(const RuleOutcome& outcome) {
  Value out = Value::object({{"id", outcome.rule.id},
                             {"name", outcome.rule.name},
                             {"severity", severity_name(outcome.rule.severity)},
                             {"class", class_name(outcome.rule.rule_class)},
                             {"origin", outcome.rule.origin},
                             {"status", status_name(outcome.status)}});
  if (!outcome.reason.empty()) out.set("reason", outcome.reason);
  return out;
}

const char* verdict_name(Verdict verdict) {
  if (verdict == Verdict::kIncomplete) return "incomplete";
  return verdict == Verdict::kPass ? "pass" : "fail";
}

Value text_or_null(const std::string& text) {
  return text.empty() ? Value(nullptr) : Value(text);
}

/// One line for each reason, with the rules it holds for.
template <class Wanted>
void add_reasons(std::string& out, const Report& report, std::string_view label, Wanted wanted) {
  std::vector<std::pair<std::string, std::string>> lines;  // reason -> ids, in the order of the table
  for (const auto& outcome : report.rules) {
    if (!wanted(outcome)) continue;
    auto at = std::find_if(lines.begin(), lines.end(), [&](const auto& line) { return line.first == outcome.reason; });
    if (at == lines.end()) at = lines.insert(at, {outcome.reason, {}});
    at->second += fmt::format(" {}", outcome.rule.id);
  }
  for (const auto& [reason, ids] : lines) out += fmt::format("{}:{}: {}\n", label, ids, reason);
}

}  // namespace

std::string_view status_name(RuleStatus status) {
  switch (status) {
    case RuleStatus::kPass:
      return "pass";
    case RuleStatus::kFail:
      return "fail";
    case RuleStatus::kNotApplicable:
      return "not-applicable";
    case RuleStatus::kNotEvaluated:
      break;
  }
  return "not-evaluated";
}

std::string Report::summary() const {
  std::string out =
      fmt::format("{} rules: {} pass, {} fail", rules.size(), count(RuleStatus::kPass), count(RuleStatus::kFail));
  if (const auto n = count(RuleStatus::kNotApplicable); n > 0) out += fmt::format(", {} not applicable", n);
  if (const auto n = count(RuleStatus::kNotEvaluated); n > 0) out += fmt::format(", {} not evaluated", n);
  const auto findings_text = [&](Severity severity, const char* one) {
    const auto n = count(severity);
    if (n > 0) out += fmt::format("; {} {}{}", n, one, n == 1 ? "" : "s");
  };
  findings_text(Severity::kBlocker, "blocker");
  findings_text(Severity::kError, "error");
  findings_text(Severity::kWarning, "warning");
  findings_text(Severity::kInfo, "note");
  return out;
}

std::string to_text(const Report& report, bool colour) {
  const Colours& c = colour ? kBright : kPlain;
  std::string out;
  for (const auto& finding : report.findings) {
    const char* tint = finding.severity >= Severity::kError     ? c.red
                       : finding.severity == Severity::kWarning ? c.yellow
                                                                : c.blue;
    out += fmt::format("{}: {}{}[{}]{}: {}{}{}\n", report.package, tint, level_name(finding.severity), finding.rule,
                       c.off, c.bold, finding.message, c.off);
    out += fmt::format("  where: {}\n  found: {}\n  limit: {}\n  fix:   {}\n", place_of(finding),
                       indented(finding.found), indented(finding.limit), finding.fix);
  }
  for (const RuleStatus status : {RuleStatus::kNotApplicable, RuleStatus::kNotEvaluated})
    add_reasons(out, report, status_name(status), [&](const RuleOutcome& outcome) { return outcome.status == status; });
  add_reasons(out, report, "in part", [](const RuleOutcome& outcome) {
    return (outcome.status == RuleStatus::kPass || outcome.status == RuleStatus::kFail) && !outcome.reason.empty();
  });
  return out;
}

Value to_value(const Report& report) {
  Value inputs = Value::array();
  inputs.push(
      Value::object({{"role", "calbin"}, {"name", report.package}, {"sha256", text_or_null(report.package_digest)}}));
  if (!report.service_digest.empty())
    inputs.push(Value::object({{"role", "service"}, {"sha256", report.service_digest}}));
  Value rule_list = Value::array(), findings = Value::array();
  for (const auto& outcome : report.rules) rule_list.push(rule_value(outcome));
  for (const auto& finding : report.findings) findings.push(finding_value(finding));
  Value counts = Value::object();
  for (const Severity severity : {Severity::kBlocker, Severity::kError, Severity::kWarning, Severity::kInfo})
    counts.set(severity_name(severity), report.count(severity));
  for (const RuleStatus status :
       {RuleStatus::kPass, RuleStatus::kFail, RuleStatus::kNotApplicable, RuleStatus::kNotEvaluated})
    counts.set("rules_" + std::string(status_name(status)), report.count(status));
  return Value::object(
      {{"schema", "calkit.lint-report/1"},
       {"package", Value::object({{"name", report.package}, {"digest", text_or_null(report.package_digest)}})},
       {"device_profile", report.profile},
       {"inputs", std::move(inputs)},
       {"ruleset_digest", ruleset_digest()},
       {"verdict", verdict_name(report.verdict)},
       {"counts", std::move(counts)},
       {"rules", std::move(rule_list)},
       {"findings", std::move(findings)}});
}

}  // namespace calkit::lint
