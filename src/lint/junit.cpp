/// JUnit XML: one testcase for each rule and each submodel it looks at; `package` stands for the rest.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "check.h"
#include "report_parts.h"

namespace calkit::lint {

namespace {

constexpr const char* kPackage = "package";

/// Text that XML 1.0 can hold.
std::string xml(std::string_view text) {
  std::string out;
  for (const char c : visible(text, true)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\n')
      out += "&#10;";
    else
      out += c;
  }
  return out;
}

struct TestCase {
  std::vector<const Finding*> failing, told, waived;
};

struct Suite {
  std::string cases;
  int tests = 0, failures = 0, errors = 0, skipped = 0;
};

bool looks_at_submodels(std::string_view id) {
  for (const auto& rule : rule_table())
    if (rule.info.id == id)
      return std::any_of(rule.needs.begin(), rule.needs.end(),
                         [](std::string_view need) { return need.starts_with("/submodels"); });
  return false;
}

std::map<std::string, TestCase> cases_of(const Report& report, const RuleOutcome& outcome) {
  std::map<std::string, TestCase> out;
  if (looks_at_submodels(outcome.rule.id))
    for (const auto& name : report.submodels) out[name];
  for (const auto& finding : report.findings) {
    if (finding.rule != outcome.rule.id) continue;
    TestCase& one = out[finding.submodel.empty() ? kPackage : finding.submodel];
    if (finding.waiver)
      one.waived.push_back(&finding);
    else if (report.counts(finding) && finding.severity >= report.policy.fail_on)
      one.failing.push_back(&finding);
    else
      one.told.push_back(&finding);
  }
  if (out.empty()) out[kPackage];
  return out;
}

std::string texts_of(const std::vector<const Finding*>& findings, std::string_view what) {
  std::string out;
  for (const Finding* finding : findings) {
    out += fmt::format("{}{}: {}\nwhere: {}\nfound: {}\nlimit: {}\nfix: {}\n", what, severity_name(finding->severity),
                       finding->message, place_of(*finding), finding->found, finding->limit, finding->fix);
    if (finding->waiver)
      out += fmt::format("waived by {} until {}: {}\n", finding->waiver->owner, finding->waiver->expires,
                         finding->waiver->reason);
  }
  return out;
}

void add_case(Suite& suite, const RuleOutcome& outcome, const std::string& name, const TestCase& one, bool counts) {
  ++suite.tests;
  const std::string sentence = fmt::format("must hold ({}): {}", outcome.rule.origin, outcome.rule.summary);
  std::string body;
  if (!one.failing.empty()) {
    ++suite.failures;
    body =
        fmt::format("      <failure type=\"{}\" message=\"{}\">{}</failure>\n", severity_name(one.failing[0]->severity),
                    xml(one.failing[0]->message), xml(texts_of(one.failing, "") + sentence));
  } else if (outcome.status == RuleStatus::kNotEvaluated && counts) {
    ++suite.errors;
    body = fmt::format("      <error type=\"not-evaluated\" message=\"{}\">{}</error>\n", xml(outcome.reason),
                       xml(sentence));
  } else if (outcome.status == RuleStatus::kNotEvaluated || outcome.status == RuleStatus::kNotApplicable) {
    ++suite.skipped;
    body = fmt::format("      <skipped message=\"{}: {}\"/>\n", status_name(outcome.status), xml(outcome.reason));
  } else if (!one.waived.empty()) {
    ++suite.skipped;
    body = fmt::format("      <skipped message=\"waived: {}\"/>\n", xml(one.waived[0]->waiver->reason));
  }
  const std::string told = texts_of(one.told, counts ? "" : "preview ") + texts_of(one.waived, "waived ");
  if (!told.empty()) body += fmt::format("      <system-out>{}</system-out>\n", xml(told));
  suite.cases +=
      fmt::format("    <testcase classname=\"calbin-lint.{}\" name=\"{} {} [{}]{}\"", family_of(outcome.rule.id).name,
                  outcome.rule.id, outcome.rule.name, xml(name), counts ? "" : " (preview)");
  suite.cases += body.empty() ? "/>\n" : ">\n" + body + "    </testcase>\n";
}

void add_waiver_case(Suite& suite, const Report& report) {
  if (report.waivers_digest.empty()) return;
  ++suite.tests;
  std::string text;
  for (const auto& stale : report.stale)
    text +=
        fmt::format("{} {}: {}\n", stale.waiver.rule, stale.waiver.fingerprint, stale.expired ? "expired" : "unused");
  suite.cases += "    <testcase classname=\"calbin-lint.waivers\" name=\"every waiver is in use\"";
  if (text.empty()) {
    suite.cases += "/>\n";
  } else if (report.policy.allow_stale_waivers) {
    suite.cases += fmt::format(">\n      <system-out>{}</system-out>\n    </testcase>\n", xml(text));
  } else {
    ++suite.failures;
    suite.cases +=
        fmt::format(">\n      <failure type=\"stale-waiver\" message=\"{} stale\">{}</failure>\n    </testcase>\n",
                    report.stale.size(), xml(text));
  }
}

}  // namespace

std::string to_junit(const Report& report) {
  Suite suite;
  for (const auto& outcome : report.rules) {
    const bool counts = outcome.rule.maturity == Maturity::kStable || report.policy.preview;
    // A rule below error that could not be evaluated leaves the verdict alone.
    const bool needed = outcome.status != RuleStatus::kNotEvaluated ||
                        outcome.rule.severity >= std::min(Severity::kError, report.policy.fail_on);
    for (const auto& [name, one] : cases_of(report, outcome)) add_case(suite, outcome, name, one, counts && needed);
  }
  add_waiver_case(suite, report);
  const std::string numbers = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"", suite.tests,
                                          suite.failures, suite.errors, suite.skipped);
  const std::string name = xml(report.package);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"calbin-lint\" {} time=\"0\">\n"
      "  <testsuite name=\"{}\" {} time=\"0\">\n{}  </testsuite>\n</testsuites>\n",
      numbers, name, numbers, suite.cases);
}

}  // namespace calkit::lint
