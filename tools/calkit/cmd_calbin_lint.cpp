#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ostream>

#include "calkit/base/files.h"
#include "calkit/base/paths.h"
#include "calkit/base/process.h"
#include "calkit/base/text.h"
#include "calkit/lint/output.h"
#include "calkit/lint/policy.h"
#include "calkit/manifest/support_matrix.h"
#include "command.h"
#include "dump_canonical.h"

namespace calkit::cli {
namespace {

constexpr const char* kDefaultWaivers = "calbin-lint.waivers.json";

struct Options {
  DumpOptions dump;
  std::string dialects;
  std::string package, service, device_profile, baseline, support, explain;
  std::string profile = "ci", fail_on, waivers, format = "text", path_prefix;
  std::vector<std::string> select, ignore, outputs;
  ReadLimits limits = calbin::kDescriptionLimits;
  bool list_rules = false, strict = false, preview = false, exit_zero = false;
  bool allow_stale_waivers = false, prune_waivers = false;
};

Value rule_value(const lint::RuleInfo& rule) {
  Value out = Value::object({{"id", rule.id},
                             {"name", rule.name},
                             {"family", lint::family_of(rule.id).name},
                             {"severity", lint::severity_name(rule.severity)},
                             {"class", lint::class_name(rule.rule_class)},
                             {"maturity", lint::maturity_name(rule.maturity)},
                             {"summary", rule.summary},
                             {"origin", rule.origin}});
  if (!rule.beyond_device.empty()) out.set("beyond_device", rule.beyond_device);
  return out;
}

Result<ExitCode> list_rules(const Common& common, Streams io) {
  Value rows = Value::array();
  for (const auto& rule : lint::rules()) {
    rows.push(rule_value(rule));
    if (!common.json)
      io.out << fmt::format("{}  {:<8}  {:<12}  {:<10}  {:<7}  {:<26}  {}\n", rule.id,
                            lint::severity_name(rule.severity), lint::class_name(rule.rule_class),
                            lint::family_of(rule.id).name, lint::maturity_name(rule.maturity), rule.name, rule.summary);
  }
  if (common.json)
    io.out << to_json(Value::object({{"schema", "calkit.lint-rules/1"},
                                     {"ruleset_digest", lint::ruleset_digest()},
                                     {"rules", std::move(rows)}}))
           << '\n';
  return ExitCode::kOk;
}

/// An id or a name, exactly.
Result<ExitCode> explain(const std::string& wanted, const Common& common, Streams io) {
  std::vector<std::string> known;
  for (const auto& rule : lint::rules()) {
    known.emplace_back(rule.name);
    if (rule.id != wanted && rule.name != wanted) continue;
    if (!common.json) {
      io.out << lint::rule_page(rule.id);
      if (!rule.beyond_device.empty())
        io.out << "\n## Beyond the device\n\nA device may load what this rule refuses: " << rule.beyond_device << ".\n";
      return ExitCode::kOk;
    }
    Value document = rule_value(rule);
    document.set("schema", "calkit.lint-rule/1");
    document.set("page", lint::rule_page(rule.id));
    io.out << to_json(document) << '\n';
    return ExitCode::kOk;
  }
  const std::string near = nearest_word(wanted, known);
  return Error(ErrorKind::kUsage, fmt::format("--explain: no rule is called '{}'", wanted),
               near.empty() ? "see `calkit calbin-lint --list-rules`" : fmt::format("did you mean {}?", near));
}

bool wants_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  return (no_colour == nullptr || *no_colour == '\0') && ::isatty(STDOUT_FILENO) == 1;
}

/// What goes where, checked before any work is done.
struct Outputs {
  lint::Format on_stdout = lint::Format::kText;
  std::vector<std::pair<lint::Format, std::string>> files;
};

Result<Outputs> plan_outputs(const Options& opt, const Common& common) {
  Outputs out;
  CALKIT_TRY(out.on_stdout, lint::parse_format(opt.format), "reading --format");
  if (common.json && opt.format != "text" && opt.format != "json")
    return Error(ErrorKind::kUsage, fmt::format("--json and --format {} both want standard output", opt.format),
                 "write one of them to a file: --output FORMAT=FILE");
  if (common.json) out.on_stdout = lint::Format::kJson;
  for (const auto& text : opt.outputs) {
    const auto equals = text.find('=');
    const std::string path = equals == std::string::npos ? "" : text.substr(equals + 1);
    if (path.empty())
      return Error(ErrorKind::kUsage,
                   fmt::format("--output is '{}'; allowed: FORMAT=FILE, such as sarif=lint.sarif", text));
    CALKIT_TRY(const auto format, lint::parse_format(text.substr(0, equals)), "reading --output");
    if (lies_inside(path, opt.package))
      return Error(ErrorKind::kUsage, fmt::format("--output {} lies inside the package", path),
                   "write it beside the package");
    for (const auto& input : {opt.service, opt.device_profile, opt.waivers, opt.support, opt.baseline})
      if (!input.empty() && lies_inside(path, input))
        return Error(ErrorKind::kUsage, fmt::format("--output {} would replace an input", path), "choose another name");
    for (const auto& [other_format, other] : out.files)
      if (lies_inside(path, other))
        return Error(ErrorKind::kUsage, fmt::format("--output names {} twice", path), "one file for each format");
    out.files.emplace_back(format, path);
  }
  return out;
}

Result<lint::Policy> policy_of(const Options& opt) {
  CALKIT_TRY(auto policy, lint::policy_of_profile(opt.profile));
  if (!opt.fail_on.empty()) {
    CALKIT_TRY(policy.fail_on, lint::parse_severity(opt.fail_on));
  }
  policy.strict = policy.strict || opt.strict;
  policy.preview = policy.preview || opt.preview;
  policy.allow_stale_waivers = policy.allow_stale_waivers || opt.allow_stale_waivers;
  return policy;
}

/// The record chains by the digest of all files, which lint hashed. A package that could not be hashed (it holds a
/// link) has failed already and is named by its calbin.json.
void add_package(manifest::Evidence& evidence, const Options& opt, const lint::Report& report) {
  const std::string_view digest = report.package_digest;
  if (report.tree)
    evidence.inputs.push_back({"calbin", opt.package, report.tree->sha256, report.tree->bytes});
  else if (!digest.empty())
    evidence.inputs.push_back({"calbin", opt.package, std::string(digest.substr(digest.find(':') + 1)), 0});
}

/// A line on the terminal that is drawn over itself, at most ten times a second, and wiped at the end.
ByteProgress progress_bar(Streams io) {
  using Clock = std::chrono::steady_clock;
  static constexpr auto kPause = std::chrono::milliseconds(100);
  auto last = std::make_shared<Clock::time_point>(Clock::now());
  return [&err = io.err, last](std::uint64_t done, std::uint64_t total) {
    const auto now = Clock::now();
    if (done >= total) {
      err << "\r\x1b[K" << std::flush;
    } else if (now - *last >= kPause) {
      *last = now;
      const auto percent = static_cast<int>(100.0 * static_cast<double>(done) / static_cast<double>(total));
      const std::string filled(static_cast<std::size_t>(percent) / 4, '#');
      err << fmt::format("\rhashing [{:<25}] {:3} %  {} of {}\x1b[K", filled, percent, format_bytes(done),
                         format_bytes(total))
          << std::flush;
    }
  };
}

Result<lint::Inputs> gather_inputs(const Options& opt, manifest::Evidence& evidence, Streams io) {
  lint::Inputs inputs;
  inputs.package = opt.package;
  inputs.dialects = opt.dialects;
  inputs.limits = opt.limits;
  if (!opt.service.empty()) {
    CALKIT_TRY(inputs.service, manifest::read_service(opt.service), "reading --service");
    CALKIT_TRY(const auto file, manifest::evidence_file("service", opt.service), "reading --service");
    inputs.service_digest = "sha256:" + file.sha256;
    evidence.inputs.push_back(file);
  }
  if (!opt.device_profile.empty()) {
    CALKIT_TRY(inputs.profile, manifest::read_device_profile(opt.device_profile), "reading --device-profile");
  }
  if (!opt.support.empty()) {
    CALKIT_TRY(inputs.support, manifest::read_support_matrix(opt.support), "reading --support");
  }
  if (!opt.baseline.empty()) {
    CALKIT_TRY(const auto file, manifest::evidence_file("baseline", opt.baseline), "reading --baseline");
    evidence.inputs.push_back(file);
    inputs.baseline = opt.baseline;
  }
  if (::isatty(STDERR_FILENO) == 1) inputs.progress = progress_bar(io);
  return inputs;
}

/// The waiver file that applies: --waivers, or the file of the usual name in the working folder; empty: none.
std::string waiver_path(const Options& opt) {
  if (opt.waivers == "none") return {};
  std::error_code error;
  if (opt.waivers.empty() && std::filesystem::exists(kDefaultWaivers, error)) return kDefaultWaivers;
  return opt.waivers;
}

/// Waivers expire by this clock: a wrong setting must not turn into today.
Status check_clock() {
  const char* pinned = std::getenv("SOURCE_DATE_EPOCH");
  constexpr std::uint64_t kYear9999 = 253402300799;
  if (pinned == nullptr || *pinned == '\0') return {};
  const auto seconds = parse_decimal_u64(pinned);
  if (seconds && *seconds <= kYear9999) return {};
  return Error(ErrorKind::kUsage,
               fmt::format("SOURCE_DATE_EPOCH is '{}'; allowed: whole seconds since 1970, up to the year 9999",
                           printable(pinned)),
               "correct it, or unset it to judge by the clock");
}

/// Judges; with --prune-waivers also rewrites the waiver file, and judges again by what is left.
Status judge(lint::Report& report, const Options& opt, const lint::Policy& policy,
             const std::vector<std::string>& chosen, manifest::Evidence& evidence, Streams io) {
  const std::string today = utc_now().substr(0, 10);
  const std::string path = waiver_path(opt);
  if (path.empty() && opt.prune_waivers)
    return Error(ErrorKind::kUsage, "--prune-waivers: there is no waiver file", "name it with --waivers FILE");
  if (path.empty()) {
    lint::judge(report, policy, chosen, nullptr, today);
    return {};
  }
  CALKIT_TRY(auto file, lint::read_waivers(path), "reading the waivers");
  const lint::Report unjudged = report;
  lint::judge(report, policy, chosen, &file, today);
  if (opt.prune_waivers && !report.stale.empty()) {
    const std::string text = lint::pruned(file, report);
    CALKIT_CHECK_OK(write_file(path, text), "pruning the waivers");
    io.err << fmt::format("{}: {} stale waiver{} taken out\n", path, report.stale.size(),
                          report.stale.size() == 1 ? "" : "s");
    CALKIT_TRY(file, lint::parse_waivers(text, path));
    report = unjudged;
    lint::judge(report, policy, chosen, &file, today);
  }
  CALKIT_TRY(const auto input, manifest::evidence_file("waivers", path), "reading the waivers");
  evidence.inputs.push_back(input);
  return {};
}

void fill_evidence(manifest::Evidence& evidence, const lint::Report& report) {
  evidence.verdict = report.verdict == lint::Verdict::kIncomplete ? manifest::EvidenceVerdict::kIncomplete
                     : report.verdict == lint::Verdict::kPass     ? manifest::EvidenceVerdict::kPass
                                                                  : manifest::EvidenceVerdict::kFail;
  evidence.summary = report.summary();
  const std::string how = "counted over the rule table";
  evidence.figures = {manifest::counted("rules_passed", report.count(lint::RuleStatus::kPass), "rules", how),
                      manifest::counted("rules_failed", report.count(lint::RuleStatus::kFail), "rules", how),
                      manifest::counted("blockers", report.count(lint::Severity::kBlocker), "findings", how),
                      manifest::counted("errors", report.count(lint::Severity::kError), "findings", how)};
  evidence.details = lint::to_value(report);
  for (const auto& finding : report.findings)
    if (report.counts(finding) && finding.severity >= std::min(lint::Severity::kError, report.policy.fail_on))
      evidence.findings.push_back(fmt::format("{}: {}", finding.rule, finding.message));
}

ExitCode exit_code(const lint::Report& report, bool exit_zero) {
  if (report.verdict == lint::Verdict::kIncomplete) return ExitCode::kNoVerdict;
  return report.verdict == lint::Verdict::kPass || exit_zero ? ExitCode::kOk : ExitCode::kCheckFailed;
}

/// The files, the record, then standard output.
Status write_all(const Outputs& outputs, const Options& opt, const Common& common, const lint::Report& report,
                 manifest::Evidence& evidence, Streams io) {
  for (const auto& [format, path] : outputs.files)
    CALKIT_CHECK_OK(write_file(path, lint::render(report, format, {false, opt.path_prefix})), "writing --output");
  if (common.evidence_dir != "none") {
    CALKIT_TRY(const auto record, manifest::write_evidence(common.evidence_dir, evidence));
    static_cast<void>(record);
  }
  io.out << lint::render(report, outputs.on_stdout, {wants_colour(), opt.path_prefix});
  return {};
}

Result<ExitCode> run(const Options& opt, const Common& common, Streams io) {
  if (opt.list_rules) return list_rules(common, io);
  if (!opt.explain.empty()) return explain(opt.explain, common, io);
  if (opt.package.empty())
    return Error(ErrorKind::kUsage, "a package folder, --list-rules or --explain is required",
                 "calkit calbin-lint NAME.calbin");
  if (opt.dump.wanted) return dump_canonical(opt.package, opt.dialects, opt.dump, io);
  CALKIT_CHECK_OK(check_clock());
  CALKIT_TRY(const Outputs outputs, plan_outputs(opt, common));
  CALKIT_TRY(const auto policy, policy_of(opt));
  CALKIT_TRY(const auto chosen, lint::choose_rules(opt.select, opt.ignore));
  auto evidence = manifest::start_evidence("calbin-lint", common.argv);
  CALKIT_TRY(const auto inputs, gather_inputs(opt, evidence, io));
  CALKIT_TRY(auto report, lint::run(inputs));
  CALKIT_CHECK_OK(judge(report, opt, policy, chosen, evidence, io));
  add_package(evidence, opt, report);
  fill_evidence(evidence, report);
  CALKIT_CHECK_OK(write_all(outputs, opt, common, report, evidence, io));
  return exit_code(report, opt.exit_zero);
}

void add_judging_options(CLI::App& app, Options& opt) {
  const char* group = "Judging";
  app.add_option("--profile", opt.profile, "vendor, dev, ci or bundle: named settings of the options below")
      ->type_name("NAME")
      ->capture_default_str()
      ->group(group);
  app.add_option("--fail-on", opt.fail_on, "mildest severity that fails: blocker, error, warning or info")
      ->type_name("SEVERITY")
      ->group(group);
  app.add_option("--select", opt.select, "only these rules (ids, names, families) and all blockers; repeatable")
      ->type_name("RULE")
      ->delimiter(',')
      ->expected(1)
      ->take_all()
      ->group(group);
  app.add_option("--ignore", opt.ignore, "not these rules; blockers cannot be ignored; repeatable")
      ->type_name("RULE")
      ->delimiter(',')
      ->expected(1)
      ->take_all()
      ->group(group);
  app.add_flag("--strict", opt.strict, "unknown keys and unlisted files are errors")->group(group);
  app.add_flag("--preview", opt.preview, "preview rules can fail the run too")->group(group);
  app.add_flag("--exit-zero", opt.exit_zero, "exit 0 where findings would give 1, for upload jobs")->group(group);
}

void add_limit_options(CLI::App& app, Options& opt) {
  const char* group = "Limits of the description and the op lists (CB0211)";
  constexpr std::uint64_t kMany = 1ull << 40;
  const auto add = [&](const char* name, auto& into, std::uint64_t most, const char* help) {
    app.add_option(name, into, help)->type_name("N")->check(whole_number(1, most))->capture_default_str()->group(group);
  };
  add("--max-depth", opt.limits.max_depth, 1000, "levels of nesting");
  add("--max-bytes", opt.limits.max_bytes, kMany, "bytes of one document");
  add("--max-entries", opt.limits.max_entries, kMany, "values in one document");
  add("--max-string", opt.limits.max_string, kMany, "bytes of one string");
}

void add_waiver_options(CLI::App& app, Options& opt) {
  const char* group = "Waivers";
  app.add_option("--waivers", opt.waivers,
                 fmt::format("waiver file (default: {} here, if there is one); `none` uses none", kDefaultWaivers))
      ->type_name("FILE")
      ->group(group);
  app.add_flag("--allow-stale-waivers", opt.allow_stale_waivers, "expired and unused waivers do not fail")
      ->group(group);
  app.add_flag("--prune-waivers", opt.prune_waivers, "take expired and unused waivers out of the file")->group(group);
}

void add_output_options(CLI::App& app, Options& opt) {
  const char* group = "Output";
  app.add_option("--format", opt.format, "what standard output gets: text, json, sarif, junit or github")
      ->type_name("FORMAT")
      ->capture_default_str()
      ->group(group);
  app.add_option("--output", opt.outputs, "also write that format to a file; repeatable")
      ->type_name("FORMAT=FILE")
      ->expected(1)
      ->take_all()
      ->group(group);
  app.add_option("--path-prefix", opt.path_prefix, "where the package lies in the repository, for sarif and github")
      ->type_name("PATH")
      ->group(group);
}

}  // namespace

void add_calbin_lint(CLI::App& root) {
  auto opt = std::make_shared<Options>();
  CLI::App* app = add_command(
      root, "calbin-lint", "Refuse a bad package before any device sees it.",
      "  calkit calbin-lint tiny.calbin --service tiny.yaml   everything, the service's numbers included\n"
      "  calkit calbin-lint tiny.calbin --output sarif=lint.sarif --output junit=lint.xml   for CI, from one run\n"
      "  calkit calbin-lint tiny.calbin --json                the report as one JSON document\n"
      "  calkit calbin-lint --explain CB0501                  what a rule wants, and why\n"
      "  calkit calbin-lint --list-rules                      all rules in one table",
      [opt](const Common& common, Streams io) { return run(*opt, common, io); });
  app->add_option("PACKAGE", opt->package, "the package: a folder, a .tar or a .tar.zst");
  app->add_option("--service", opt->service, "service manifest the package must fit")->type_name("FILE");
  app->add_option("--device-profile", opt->device_profile, "device profile instead of the built-in assumed one")
      ->type_name("FILE");
  app->add_option("--dialects", opt->dialects, "folder of further dialects (*.yaml)")->type_name("DIR");
  add_dump_options(*app, opt->dump);
  app->add_option("--baseline", opt->baseline, "frozen baseline whose digests the package must name")->type_name("DIR");
  app->add_option("--support", opt->support, "support matrix instead of the built-in one")->type_name("FILE");
  add_judging_options(*app, *opt);
  add_limit_options(*app, *opt);
  add_waiver_options(*app, *opt);
  add_output_options(*app, *opt);
  app->add_flag("--list-rules", opt->list_rules, "print the table of rules");
  app->add_option("--explain", opt->explain, "print the page of a rule (id or name)")->type_name("RULE");
}

}  // namespace calkit::cli
