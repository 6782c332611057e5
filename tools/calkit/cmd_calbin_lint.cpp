#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <ostream>

#include "calkit/lint/lint.h"
#include "command.h"

namespace calkit::cli {
namespace {

struct Options {
  std::string package, service, profile, explain;
  bool list_rules = false;
};

Result<ExitCode> list_rules(const Common& common, Streams io) {
  Value rows = Value::array();
  std::string text;
  for (const auto& rule : lint::rules()) {
    const auto severity = lint::severity_name(rule.severity);
    text += fmt::format("{}  {:<8}  {:<24}  {}\n", rule.id, severity, rule.name, rule.summary);
    rows.push(Value::object({{"id", rule.id},
                             {"name", rule.name},
                             {"severity", severity},
                             {"class", lint::class_name(rule.rule_class)},
                             {"summary", rule.summary},
                             {"origin", rule.origin}}));
  }
  if (common.json)
    io.out << to_json(Value::object({{"schema", "calkit.lint-rules/1"},
                                     {"ruleset_digest", lint::ruleset_digest()},
                                     {"rules", std::move(rows)}}))
           << '\n';
  else
    io.out << text;
  return ExitCode::kOk;
}

/// An id or a name, exactly.
Result<ExitCode> explain(const std::string& wanted, Streams io) {
  std::vector<std::string> known;
  for (const auto& rule : lint::rules()) {
    if (rule.id == wanted || rule.name == wanted) {
      io.out << lint::rule_page(rule.id);
      return ExitCode::kOk;
    }
    known.emplace_back(rule.name);
  }
  const std::string near = nearest_word(wanted, known);
  return Error(ErrorKind::kUsage, fmt::format("--explain: no rule is called '{}'", wanted),
               near.empty() ? "see `calkit calbin-lint --list-rules`" : fmt::format("did you mean {}?", near));
}

bool wants_colour(const Common& common) {
  const char* no_colour = std::getenv("NO_COLOR");
  return !common.json && (no_colour == nullptr || *no_colour == '\0') && ::isatty(STDOUT_FILENO) == 1;
}

/// The record chains by the digest of the whole folder. A folder that cannot be hashed (it holds a link) has failed
/// already and is named by its calbin.json.
Status add_package(manifest::Evidence& evidence, const Options& opt, const lint::Report& report) {
  auto whole = manifest::evidence_file("calbin", opt.package);
  if (whole.ok()) {
    evidence.inputs.push_back(std::move(whole).value());
    return {};
  }
  if (whole.error().kind == ErrorKind::kInterrupted) return std::move(whole).error();
  const std::string_view digest = report.package_digest;
  if (!digest.empty())
    evidence.inputs.push_back({"calbin", opt.package, std::string(digest.substr(digest.find(':') + 1)), 0});
  return {};
}

manifest::EvidenceVerdict evidence_verdict(lint::Verdict verdict) {
  if (verdict == lint::Verdict::kIncomplete) return manifest::EvidenceVerdict::kIncomplete;
  return verdict == lint::Verdict::kPass ? manifest::EvidenceVerdict::kPass : manifest::EvidenceVerdict::kFail;
}

Result<ExitCode> run(const Options& opt, const Common& common, Streams io) {
  if (opt.list_rules) return list_rules(common, io);
  if (!opt.explain.empty()) return explain(opt.explain, io);
  if (opt.package.empty())
    return Error(ErrorKind::kUsage, "a package folder, --list-rules or --explain is required",
                 "calkit calbin-lint NAME.calbin");
  auto evidence = manifest::start_evidence("calbin-lint", common.argv);
  lint::Inputs inputs;
  inputs.package = opt.package;
  if (!opt.service.empty()) {
    CALKIT_TRY(inputs.service, manifest::read_service(opt.service), "reading --service");
    CALKIT_TRY(const auto file, manifest::evidence_file("service", opt.service), "reading --service");
    inputs.service_digest = "sha256:" + file.sha256;
    evidence.inputs.push_back(file);
  }
  if (!opt.profile.empty()) {
    CALKIT_TRY(inputs.profile, manifest::read_device_profile(opt.profile), "reading --device-profile");
  }
  CALKIT_TRY(const auto report, lint::run(inputs));
  CALKIT_CHECK_OK(add_package(evidence, opt, report), "hashing the package");
  evidence.verdict = evidence_verdict(report.verdict);
  evidence.summary = report.summary();
  const std::string how = "counted over the rule table";
  evidence.figures = {manifest::counted("rules_passed", report.count(lint::RuleStatus::kPass), "rules", how),
                      manifest::counted("rules_failed", report.count(lint::RuleStatus::kFail), "rules", how),
                      manifest::counted("blockers", report.count(lint::Severity::kBlocker), "findings", how),
                      manifest::counted("errors", report.count(lint::Severity::kError), "findings", how)};
  evidence.details = lint::to_value(report);
  for (const auto& finding : report.findings)
    if (finding.severity >= lint::Severity::kError)
      evidence.findings.push_back(fmt::format("{}: {}", finding.rule, finding.message));
  return finish(common, io, std::move(evidence), lint::to_text(report, wants_colour(common)));
}

}  // namespace

void add_calbin_lint(CLI::App& root) {
  auto opt = std::make_shared<Options>();
  CLI::App* app =
      add_command(root, "calbin-lint", "Refuse a bad package before any device sees it.",
                  "  calkit calbin-lint tiny.calbin --service tiny.yaml   everything, the service's numbers included\n"
                  "  calkit calbin-lint tiny.calbin --json                the report as one JSON document\n"
                  "  calkit calbin-lint --explain CB0501                  what a rule wants, and why\n"
                  "  calkit calbin-lint --list-rules                      all rules in one table",
                  [opt](const Common& common, Streams io) { return run(*opt, common, io); });
  app->add_option("PACKAGE", opt->package, "the package folder");
  app->add_option("--service", opt->service, "service manifest the package must fit")->type_name("FILE");
  app->add_option("--device-profile", opt->profile, "device profile instead of the built-in assumed one")
      ->type_name("FILE");
  app->add_flag("--list-rules", opt->list_rules, "print the table of rules")->excludes("--json");
  app->add_option("--explain", opt->explain, "print the page of a rule (id or name)")
      ->type_name("RULE")
      ->excludes("--json");
}

}  // namespace calkit::cli
