/// Workflow commands of GitHub Actions, which it shows as annotations.
#include <fmt/format.h>

#include "report_parts.h"

namespace calkit::lint {

namespace {

/// `property` also escapes what separates properties.
std::string escaped(std::string_view text, bool property) {
  std::string out;
  for (const char c : visible(text, true)) {
    if (c == '%' || c == '\n' || (property && (c == ':' || c == ',')))
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out;
}

std::string annotation(std::string_view level, std::string_view properties, std::string_view text) {
  return fmt::format("::{} {}::{}\n", level, properties, escaped(text, false));
}

std::string_view rule_name(const Report& report, std::string_view id) {
  for (const auto& outcome : report.rules)
    if (outcome.rule.id == id) return outcome.rule.name;
  return {};
}

std::string finding_line(const Report& report, const Finding& finding, const std::string& prefix) {
  const bool live = report.counts(finding);
  std::string properties = "file=" + escaped(prefix + finding.file, true);
  if (finding.line != 0) properties += fmt::format(",line={}", finding.line);
  properties += ",title=" + escaped(fmt::format("{} {}{}", finding.rule, rule_name(report, finding.rule),
                                                finding.waiver ? " (waived)"
                                                : live         ? ""
                                                               : " (preview)"),
                                    true);
  const std::string text = finding.waiver
                               ? fmt::format("{}\nwaived by {} until {}: {}", finding.message, finding.waiver->owner,
                                             finding.waiver->expires, finding.waiver->reason)
                               : fmt::format("{}\nfound: {}\nlimit: {}\nfix: {}", finding.message, finding.found,
                                             finding.limit, finding.fix);
  return annotation(
      live ? std::string_view(finding.severity == Severity::kInfo ? "notice" : level_name(finding.severity)) : "notice",
      properties, text);
}

}  // namespace

std::string to_github(const Report& report, const std::string& path_prefix) {
  std::string prefix = path_prefix.empty() ? report.package : path_prefix;
  if (prefix.back() != '/') prefix += '/';
  std::string out;
  for (const auto& finding : report.findings) out += finding_line(report, finding, prefix);
  for (const auto& stale : report.stale)
    out += annotation(report.policy.allow_stale_waivers ? "warning" : "error",
                      "title=" + escaped(stale.waiver.rule + " waiver", true),
                      fmt::format("the waiver of {} by {} {}: {}", stale.waiver.rule, stale.waiver.owner,
                                  stale.expired ? "has expired" : "matches no finding", stale.waiver.fingerprint));
  for (const auto& outcome : report.rules) {
    if (outcome.status != RuleStatus::kNotEvaluated) continue;
    const bool preview = outcome.rule.maturity == Maturity::kPreview && !report.policy.preview;
    const std::string_view level =
        preview || outcome.rule.severity == Severity::kInfo ? "notice" : level_name(outcome.rule.severity);
    out += annotation(
        level, "title=" + escaped(fmt::format("{} {} (not evaluated)", outcome.rule.id, outcome.rule.name), true),
        outcome.reason);
  }
  return out;
}

}  // namespace calkit::lint
