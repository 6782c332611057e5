#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/process.h"
#include "calkit/base/text.h"
#include "calkit/lint/output.h"
#include "report_parts.h"

namespace calkit::lint {

namespace {

struct Colours {
  const char *red, *yellow, *blue, *bold, *off;
};
constexpr Colours kPlain{"", "", "", "", ""};
constexpr Colours kBright{"\x1b[1;31m", "\x1b[1;33m", "\x1b[1;34m", "\x1b[1m", "\x1b[0m"};

std::string indented(std::string_view text) {
  std::string out;
  for (const auto& line : split(text, '\n')) out += (out.empty() ? "" : "\n         ") + visible(line);
  return out;
}

/// "error[CB0501]", "warning[CB0305 preview]", "waived[CB1101]".
std::string label_of(const Report& report, const Finding& finding) {
  if (finding.waiver) return fmt::format("waived[{}]", finding.rule);
  return fmt::format("{}[{}{}]", level_name(finding.severity), finding.rule,
                     is_preview(report, finding) ? " preview" : "");
}

const char* tint_of(const Report& report, const Finding& finding, const Colours& c) {
  if (finding.waiver || is_preview(report, finding) || finding.severity == Severity::kInfo) return c.blue;
  return finding.severity >= Severity::kError ? c.red : c.yellow;
}

std::string finding_text(const Report& report, const Finding& finding, const Colours& c) {
  std::string out = fmt::format("{}: {}{}{}: {}{}{}\n", visible(report.package), tint_of(report, finding, c),
                                label_of(report, finding), c.off, c.bold, visible(finding.message), c.off);
  out += fmt::format("  where: {}\n", visible(place_of(finding)));
  if (finding.waiver)
    return out + fmt::format("  waived by {} until {}: {}\n", visible(finding.waiver->owner), finding.waiver->expires,
                             visible(finding.waiver->reason));
  return out + fmt::format("  found: {}\n  limit: {}\n  fix:   {}\n", indented(finding.found), indented(finding.limit),
                           indented(finding.fix));
}

std::string stale_text(const Report& report, const StaleWaiver& stale, const Colours& c) {
  const bool fails = !report.policy.allow_stale_waivers;
  const Waiver& waiver = stale.waiver;
  return fmt::format(
      "{}: {}{}{}: {}the waiver of {} by {} {}{}\n  fingerprint: {}\n  fix:   {}\n", visible(report.package),
      fails ? c.red : c.yellow, fails ? "error[waiver]" : "warning[waiver]", c.off, c.bold, waiver.rule,
      visible(waiver.owner), stale.expired ? fmt::format("expired on {}", waiver.expires) : "matches no finding", c.off,
      waiver.fingerprint,
      stale.expired ? "repair the package, or have the owner renew the waiver" : "take it out (--prune-waivers)");
}

Value waiver_value(const Waiver& waiver) {
  return Value::object({{"reason", waiver.reason}, {"owner", waiver.owner}, {"expires", waiver.expires}});
}

Value finding_value(const Report& report, const Finding& finding) {
  Value out =
      Value::object({{"rule", finding.rule},
                     {"severity", severity_name(finding.severity)},
                     {"maturity", maturity_name(is_preview(report, finding) ? Maturity::kPreview : Maturity::kStable)},
                     {"counts", report.counts(finding)},
                     {"file", finding.file},
                     {"pointer", finding.pointer},
                     {"symbol", finding.symbol},
                     {"fingerprint", finding.fingerprint},
                     {"message", finding.message},
                     {"found", finding.found},
                     {"limit", finding.limit},
                     {"fix", finding.fix}});
  out.set("line", finding.line != 0 ? Value(finding.line) : Value(nullptr));
  out.set("byte", Value(finding.byte));
  out.set("waiver", finding.waiver ? waiver_value(*finding.waiver) : Value(nullptr));
  return out;
}

Value stale_value(const StaleWaiver& stale) {
  Value out = waiver_value(stale.waiver);
  out.set("rule", stale.waiver.rule);
  out.set("fingerprint", stale.waiver.fingerprint);
  out.set("why", stale.expired ? "expired" : "unused");
  return out;
}

Value policy_value(const Report& report) {
  const Policy& policy = report.policy;
  return Value::object({{"profile", policy.profile},
                        {"fail_on", severity_name(policy.fail_on)},
                        {"strict", policy.strict},
                        {"preview", policy.preview},
                        {"allow_stale_waivers", policy.allow_stale_waivers},
                        {"rules_left_out", Value::list(report.unselected)}});
}

Value rule_value(const RuleOutcome& outcome) {
  Value out = Value::object({{"id", outcome.rule.id},
                             {"name", outcome.rule.name},
                             {"family", family_of(outcome.rule.id).name},
                             {"maturity", maturity_name(outcome.rule.maturity)},
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
  for (const auto& [reason, ids] : lines) out += fmt::format("{}:{}: {}\n", label, ids, visible(reason));
}

}  // namespace

// Shared by the formats.

const char* level_name(Severity severity) {
  if (severity >= Severity::kError) return "error";
  return severity == Severity::kWarning ? "warning" : "note";
}

std::string place_of(const Finding& finding) {
  std::string out = finding.file;
  if (!finding.pointer.empty()) out += "#" + finding.pointer;
  if (finding.line != 0) out += fmt::format(" (line {})", finding.line);
  if (finding.byte) out += fmt::format(" (byte {})", *finding.byte);
  return out;
}

bool is_preview(const Report& report, const Finding& finding) {
  return std::any_of(report.rules.begin(), report.rules.end(), [&](const RuleOutcome& outcome) {
    return outcome.rule.id == finding.rule && outcome.rule.maturity == Maturity::kPreview;
  });
}

std::uint64_t count_preview(const Report& report) {
  return static_cast<std::uint64_t>(
      std::count_if(report.findings.begin(), report.findings.end(),
                    [&](const Finding& finding) { return !finding.waiver && !report.counts(finding); }));
}

std::uint64_t count_waived(const Report& report) {
  return static_cast<std::uint64_t>(std::count_if(report.findings.begin(), report.findings.end(),
                                                  [](const Finding& finding) { return finding.waiver.has_value(); }));
}

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
  const auto add = [&](std::uint64_t n, const char* one) {
    if (n > 0) out += fmt::format("; {} {}{}", n, one, n == 1 ? "" : "s");
  };
  add(count(Severity::kBlocker), "blocker");
  add(count(Severity::kError), "error");
  add(count(Severity::kWarning), "warning");
  add(count(Severity::kInfo), "note");
  add(count_preview(*this), "preview finding");
  add(count_waived(*this), "waived finding");
  add(stale.size(), "stale waiver");
  return out;
}

std::string to_text(const Report& report, bool colour) {
  const Colours& c = colour ? kBright : kPlain;
  std::string out;
  for (const auto& finding : report.findings) out += finding_text(report, finding, c);
  for (const auto& stale : report.stale) out += stale_text(report, stale, c);
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
  if (!report.waivers_digest.empty())
    inputs.push(Value::object({{"role", "waivers"}, {"sha256", report.waivers_digest}}));
  Value rule_list = Value::array(), findings = Value::array(), stale_waivers = Value::array();
  for (const auto& outcome : report.rules) rule_list.push(rule_value(outcome));
  for (const auto& finding : report.findings) findings.push(finding_value(report, finding));
  for (const auto& stale : report.stale) stale_waivers.push(stale_value(stale));
  Value counts = Value::object();
  for (const Severity severity : {Severity::kBlocker, Severity::kError, Severity::kWarning, Severity::kInfo})
    counts.set(severity_name(severity), report.count(severity));
  counts.set("preview", count_preview(report));
  counts.set("waived", count_waived(report));
  for (const RuleStatus status :
       {RuleStatus::kPass, RuleStatus::kFail, RuleStatus::kNotApplicable, RuleStatus::kNotEvaluated})
    counts.set("rules_" + std::string(status_name(status)), report.count(status));
  return Value::object(
      {{"schema", "calkit.lint-report/2"},
       {"package", Value::object({{"name", report.package}, {"digest", text_or_null(report.package_digest)}})},
       {"device_profile", report.profile},
       {"inputs", std::move(inputs)},
       {"ruleset_digest", ruleset_digest()},
       {"tool", Value::object({{"name", "calkit calbin-lint"}, {"version", calkit_version()}})},
       {"policy", policy_value(report)},
       {"stale_waivers", std::move(stale_waivers)},
       {"summary", report.summary()},
       {"verdict", verdict_name(report.verdict)},
       {"counts", std::move(counts)},
       {"rules", std::move(rule_list)},
       {"findings", std::move(findings)}});
}

Result<Format> parse_format(std::string_view text) {
  if (text == "text") return Format::kText;
  if (text == "json") return Format::kJson;
  if (text == "sarif") return Format::kSarif;
  if (text == "junit") return Format::kJunit;
  if (text == "github") return Format::kGithub;
  return Error(ErrorKind::kUsage, fmt::format("the format is '{}'; allowed: text, json, sarif, junit, github", text));
}

std::string render(const Report& report, Format format, const RenderOptions& options) {
  switch (format) {
    case Format::kJson:
      return to_json(to_value(report)) + "\n";
    case Format::kSarif:
      return to_json(to_sarif(report, options.path_prefix)) + "\n";
    case Format::kJunit:
      return to_junit(report);
    case Format::kGithub:
      return to_github(report, options.path_prefix);
    case Format::kText:
      break;
  }
  return to_text(report, options.colour) + verdict_name(report.verdict) + ": " + report.summary() + "\n";
}

}  // namespace calkit::lint
