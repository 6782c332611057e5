/// SARIF 2.1.0 (OASIS), for code scanning.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calkit/base/process.h"
#include "calkit/base/text.h"
#include "report_parts.h"

namespace calkit::lint {

namespace {

constexpr std::size_t kMaxResults = 4900;  // code scanning shows 5000 of a run

/// A relative path as a URI reference: everything but unreserved characters and '/' is percent-encoded.
std::string uri_of(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '~' || c == '/';
    if (plain)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

Value text_value(std::string_view text) {
  return Value::object({{"text", text}});
}

/// What a result weighs: a preview rule's is a note, so that no upload fails a run that we let pass.
const char* level_of(const Report& report, const Finding& finding) {
  return report.counts(finding) || finding.waiver ? level_name(finding.severity) : "note";
}

Value rule_value(const RuleOutcome& outcome) {
  const RuleInfo& rule = outcome.rule;
  const auto family = family_of(rule.id).name;
  Value tags = Value::array({family, class_name(rule.rule_class), severity_name(rule.severity)});
  if (rule.maturity == Maturity::kPreview) tags.push("preview");
  Value properties = Value::object({{"method", rule.origin},
                                    {"family", family},
                                    {"class", class_name(rule.rule_class)},
                                    {"maturity", maturity_name(rule.maturity)},
                                    {"tags", std::move(tags)}});
  if (rule.severity == Severity::kBlocker) properties.set("security-severity", "9.0");
  const bool preview = rule.maturity == Maturity::kPreview;
  return Value::object(
      {{"id", rule.id},
       {"name", rule.name},
       {"shortDescription", text_value(rule.summary)},
       {"fullDescription", text_value(fmt::format("What must hold: {}.", rule.summary))},
       {"help", Value::object({{"text", rule_page(rule.id)}, {"markdown", rule_page(rule.id)}})},
       {"helpUri", fmt::format("urn:calkit:calbin-lint:{}", rule.id)},
       {"defaultConfiguration", Value::object({{"level", preview ? "note" : level_name(rule.severity)}})},
       {"properties", std::move(properties)}});
}

Value location_of(const Finding& finding, const std::string& prefix) {
  Value artifact =
      Value::object({{"uri", prefix + uri_of(finding.file)}, {"uriBaseId", prefix.empty() ? "PACKAGE" : "%SRCROOT%"}});
  Value physical = Value::object({{"artifactLocation", std::move(artifact)}});
  if (finding.line != 0)
    physical.set("region", Value::object({{"startLine", finding.line}}));
  else if (finding.byte)
    physical.set("region", Value::object({{"byteOffset", *finding.byte}}));
  Value out = Value::object({{"physicalLocation", std::move(physical)}});
  if (!finding.symbol.empty()) {
    Value logical = Value::object({{"fullyQualifiedName", finding.symbol},
                                   {"name", finding.symbol.substr(finding.symbol.rfind('/') + 1)},
                                   {"kind", finding.submodel.empty() ? "member" : "object"}});
    out.set("logicalLocations", Value::array({std::move(logical)}));
  }
  return out;
}

Value result_of(const Report& report, const Finding& finding, std::size_t rule_index, const std::string& prefix) {
  const std::string text =
      fmt::format("{}\nfound: {}\nlimit: {}\nfix: {}", finding.message, finding.found, finding.limit, finding.fix);
  Value properties = Value::object({{"severity", severity_name(finding.severity)}, {"counts", report.counts(finding)}});
  if (!finding.submodel.empty()) properties.set("submodel", finding.submodel);
  Value out = Value::object(
      {{"ruleId", finding.rule},
       {"ruleIndex", static_cast<std::uint64_t>(rule_index)},
       {"level", level_of(report, finding)},
       {"message", text_value(text)},
       {"locations", Value::array({location_of(finding, prefix)})},
       {"partialFingerprints",
        Value::object({{"calbinFinding/v1", finding.fingerprint.substr(finding.fingerprint.find(':') + 1)}})},
       {"properties", std::move(properties)}});
  Value suppressions = Value::array();
  if (finding.waiver)
    suppressions.push(Value::object({{"kind", "external"},
                                     {"status", "accepted"},
                                     {"justification", fmt::format("{} ({}, until {})", finding.waiver->reason,
                                                                   finding.waiver->owner, finding.waiver->expires)}}));
  out.set("suppressions", std::move(suppressions));
  return out;
}

Value notification(const char* level, const std::string& text) {
  return Value::object({{"level", level}, {"message", text_value(text)}});
}

Value notifications_of(const Report& report, std::size_t left_out) {
  Value out = Value::array();
  for (std::size_t i = 0; i < report.rules.size(); ++i) {
    const RuleOutcome& outcome = report.rules[i];
    if (outcome.status != RuleStatus::kNotEvaluated) continue;
    const bool preview = outcome.rule.maturity == Maturity::kPreview && !report.policy.preview;
    Value item = notification(preview ? "note" : level_name(outcome.rule.severity),
                              fmt::format("{} was not evaluated: {}", outcome.rule.id, outcome.reason));
    item.set("associatedRule", Value::object({{"id", outcome.rule.id}, {"index", static_cast<std::uint64_t>(i)}}));
    out.push(std::move(item));
  }
  for (const auto& stale : report.stale)
    out.push(notification(report.policy.allow_stale_waivers ? "warning" : "error",
                          fmt::format("the waiver of {} {} {}", stale.waiver.rule, stale.waiver.fingerprint,
                                      stale.expired ? "has expired" : "matches no finding")));
  if (left_out > 0) out.push(notification("warning", fmt::format("{} more results are not listed", left_out)));
  return out;
}

/// The gravest come first into the list that is cut; the list itself keeps the report's order.
std::vector<const Finding*> listed_findings(const Report& report) {
  std::vector<const Finding*> out;
  for (const auto& finding : report.findings) out.push_back(&finding);
  if (out.size() <= kMaxResults) return out;
  std::stable_sort(out.begin(), out.end(),
                   [](const Finding* a, const Finding* b) { return a->severity > b->severity; });
  out.resize(kMaxResults);
  std::sort(out.begin(), out.end());  // all point into one vector
  return out;
}

}  // namespace

Value to_sarif(const Report& report, const std::string& path_prefix) {
  std::string prefix = uri_of(path_prefix);
  if (!prefix.empty() && prefix.back() != '/') prefix += '/';
  Value rule_list = Value::array(), results = Value::array();
  std::map<std::string_view, std::size_t> index;
  for (const auto& outcome : report.rules) {
    index.emplace(outcome.rule.id, index.size());
    rule_list.push(rule_value(outcome));
  }
  const auto listed = listed_findings(report);
  for (const Finding* finding : listed) results.push(result_of(report, *finding, index[finding->rule], prefix));
  Value driver =
      Value::object({{"name", "calkit calbin-lint"}, {"version", calkit_version()}, {"rules", std::move(rule_list)}});
  Value invocation =
      Value::object({{"executionSuccessful", report.verdict != Verdict::kIncomplete},
                     {"toolExecutionNotifications", notifications_of(report, report.findings.size() - listed.size())}});
  Value bases = Value::object(
      {{"PACKAGE", Value::object({{"description", text_value(fmt::format("the package {}", report.package))}})}});
  Value run = Value::object(
      {{"tool", Value::object({{"driver", std::move(driver)}})},
       {"invocations", Value::array({std::move(invocation)})},
       {"originalUriBaseIds", std::move(bases)},
       {"columnKind", "utf16CodeUnits"},
       {"results", std::move(results)},
       {"properties", Value::object({{"rulesetDigest", ruleset_digest()}, {"summary", report.summary()}})}});
  return Value::object({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                        {"version", "2.1.0"},
                        {"runs", Value::array({std::move(run)})}});
}

}  // namespace calkit::lint
