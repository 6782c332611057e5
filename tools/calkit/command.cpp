#include "command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "calkit/base/document.h"
#include "calkit/base/log.h"
#include "calkit/base/process.h"
#include "calkit/base/text.h"

namespace calkit::cli {
namespace {

// What the parsed command line asks for; filled by the callback of the one command that was named.
struct Program {
  std::vector<std::string> argv;
  std::function<Result<ExitCode>()> work;
};
Program& program() {
  static Program instance;
  return instance;
}

// Help with the examples first: people copy one and change it.
class ExamplesFirst : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    if (mode == CLI::AppFormatMode::Sub) return make_expanded(app);
    std::string examples = app->get_footer();
    while (!examples.empty() && examples.back() == '\n') examples.pop_back();
    std::string out = make_description(app);
    if (!examples.empty()) out += "\nExamples:\n" + examples + "\n\n";
    out += make_usage(app, std::move(name));
    out += make_positionals(app);
    out += make_groups(app, mode);
    out += make_subcommands(app, mode);
    return out;
  }
};

std::string environment_twin(const std::string& flag) {
  std::string out = "CALKIT_";
  for (const char c : flag) out += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

void add_environment_twins(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const auto& names = option->get_lnames();
    if (names.empty() || names.front() == "help" || names.front() == "version") continue;
    option->envname(environment_twin(names.front()));
  }
  for (CLI::Option* option : app.get_options()) {
    if (option->get_expected_max() == 0) continue;  // a flag
    option->check(CLI::Validator([](std::string& text) { return text.empty() ? "must not be empty" : std::string(); },
                                 "", "nonempty"));
  }
  for (CLI::App* sub : app.get_subcommands({})) add_environment_twins(*sub);
}

void print_error(const Error& error, std::ostream& err) {
  err << "calkit: error: " << error.message << '\n';
  for (const std::string& frame : error.context) err << "  while: " << frame << '\n';
  if (!error.hint.empty()) err << "  fix:   " << error.hint << '\n';
}

Result<ExitCode> guarded(const std::function<Result<ExitCode>()>& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Error(ErrorKind::kIncomplete, "out of memory", "give the command more memory or a smaller input");
  } catch (const std::exception& e) {
    return Error(ErrorKind::kInternal, fmt::format("unexpected exception: {}", e.what()), "this is a defect in calkit");
  }
}

int finish_program(const Result<ExitCode>& outcome) {
  if (!outcome.ok()) print_error(outcome.error(), std::cerr);
  std::cout.flush();
  if (!std::cout.good()) {
    std::cerr << "calkit: error: standard output could not be written whole\n";
    return static_cast<int>(ExitCode::kNoVerdict);
  }
  return static_cast<int>(outcome.ok() ? *outcome : exit_code_of(outcome.error().kind));
}

std::unique_ptr<CLI::App> make_root() {
  auto root = std::make_unique<CLI::App>(
      "calkit takes a Hugging Face checkpoint to an accepted package for a Calculet NPU, gate by gate.", "calkit");
  root->formatter(std::make_shared<ExamplesFirst>());
  root->footer(
      "  calkit triage MODEL_DIR                              is the model fit for a first adaptation?\n"
      "  calkit freeze-baseline model MODEL_DIR --out base    what the model means: tokens, logits, hashes\n"
      "  calkit calbin-lint NAME.calbin --service svc.yaml    refuse a bad package before any device sees it\n"
      "  calkit COMMAND --help                                examples and options of one command\n");
  root->set_version_flag("--version", calkit_version() + " (" + calkit_commit() + ")");
  root->require_subcommand(1);
  for (const Registration& registration : registrations()) registration.add(*root);
  add_environment_twins(*root);
  return root;
}

// What is wrong with the command line. The parser looks for missing arguments before unknown ones, so that a misspelt
// command or option would be told as something missing: look for it first.
std::string usage_problem(const CLI::App& root, int argc, char** argv, const std::string& otherwise) {
  std::vector<std::string> known;
  for (const Registration& registration : registrations()) known.emplace_back(registration.name);
  if (argc > 1 && argv[1][0] != '-' && std::find(known.begin(), known.end(), argv[1]) == known.end()) {
    const std::string near = nearest_word(argv[1], known);
    return fmt::format("there is no command '{}'{}", argv[1],
                       near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
  }
  for (const CLI::App* app = &root; app != nullptr;) {
    for (const std::string& rest : app->remaining())
      if (rest.starts_with('-')) return fmt::format("there is no option '{}' here", rest);
    const auto chosen = app->get_subcommands();
    app = chosen.empty() ? nullptr : chosen.front();
  }
  return otherwise;
}

int parse_and_run(int argc, char** argv) {
  const auto root = make_root();
  try {
    root->parse(argc, argv);
  } catch (const CLI::Success& e) {  // help or version
    root->exit(e, std::cout, std::cerr);
    return finish_program(ExitCode::kOk);
  } catch (const CLI::ParseError& e) {
    std::cerr << "calkit: usage: " << usage_problem(*root, argc, argv, e.what())
              << "\n  see `calkit --help` or `calkit COMMAND --help`\n";
    return static_cast<int>(ExitCode::kUsage);
  }
  if (!program().work) {
    std::cerr << "calkit: usage: no command was given\n";
    return static_cast<int>(ExitCode::kUsage);
  }
  return finish_program(guarded(program().work));
}

}  // namespace

ExitCode exit_code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return ExitCode::kUsage;
    case ErrorKind::kInput:
    case ErrorKind::kIo:
    case ErrorKind::kIncomplete:
      return ExitCode::kNoVerdict;
    case ErrorKind::kDevice:
    case ErrorKind::kTimeout:
      return ExitCode::kDevice;
    case ErrorKind::kInterrupted:
      return ExitCode::kInterrupted;
    case ErrorKind::kInternal:
      break;
  }
  return ExitCode::kBug;
}

CLI::App* add_group(CLI::App& root, const std::string& name, const std::string& summary, const std::string& examples) {
  CLI::App* app = root.add_subcommand(name, summary);
  app->footer(examples);
  // An argument that is spelt like another subcommand stays an argument of this one.
  app->prefix_command(false)->fallthrough(false);
  app->require_subcommand(1);
  return app;
}

CLI::App* add_command(CLI::App& root, const std::string& name, const std::string& summary, const std::string& examples,
                      RunFunction run) {
  CLI::App* app = root.add_subcommand(name, summary);
  app->footer(examples);
  auto common = std::make_shared<Common>();
  app->add_flag("--json", common->json, "print one JSON document on stdout, nothing else");
  app->add_option("--evidence", common->evidence_dir, "folder for the evidence record; `none` writes none")
      ->type_name("DIR")
      ->capture_default_str();
  auto verbose = std::make_shared<bool>(false);
  app->add_flag("--verbose", *verbose, "log what is being done to stderr");
  app->callback([common, verbose, run = std::move(run)] {
    common->argv = program().argv;
    if (*verbose) log::set_level(log::Level::kDebug);
    program().work = [common, run] { return run(*common, Streams{std::cout, std::cerr}); };
  });
  return app;
}

CLI::Validator whole_number(std::uint64_t min, std::uint64_t max) {
  return CLI::Validator(
      [min, max](std::string& text) {
        const auto value = parse_decimal_u64(text);
        const bool octal = text.size() > 1 && text[0] == '0';  // the parser below would read 010 as 8
        return value && !octal && *value >= min && *value <= max
                   ? std::string()
                   : fmt::format("'{}' is no whole number from {} to {}", text, min, max);
      },
      fmt::format("{}..{}", min, max), "whole number");
}

void add_target_options(CLI::App& app, TargetOptions& options) {
  app.add_option("--project", options.project, "project file with the product targets (YAML, schema calkit.project/1)")
      ->type_name("FILE");
  app.add_option("--context", options.context, "context target in tokens")
      ->type_name("N")
      ->check(whole_number(1, 1 << 30));
  app.add_option("--batch", options.batch, "sequences per step")->type_name("N")->check(whole_number(1, 1 << 16));
  app.add_option("--kv-dtype", options.kv_dtype, "element type of the KV cache: bf16 or f32")->type_name("T");
}

Result<manifest::ProductTargets> resolve_targets(const TargetOptions& options) {
  manifest::ProductTargets targets;
  if (!options.project.empty()) {
    CALKIT_TRY(targets, manifest::read_project(options.project), "reading --project");
  }
  if (!options.kv_dtype.empty() && options.kv_dtype != "bf16" && options.kv_dtype != "f32")
    return Error(ErrorKind::kUsage, fmt::format("--kv-dtype is '{}'; allowed: bf16, f32", options.kv_dtype));
  const bool flags = options.context > 0 || options.batch > 0 || !options.kv_dtype.empty();
  if (options.context > 0) targets.context = options.context;
  if (options.batch > 0) targets.batch = options.batch;
  if (!options.kv_dtype.empty()) targets.kv_dtype = options.kv_dtype;
  if (flags) targets.source = options.project.empty() ? "flags" : targets.source + " and flags";
  return targets;
}

Result<ExitCode> finish(const Common& common, Streams io, manifest::Evidence evidence, const std::string& text) {
  std::string record = "none";
  if (common.evidence_dir != "none") {
    CALKIT_TRY(const auto path, manifest::write_evidence(common.evidence_dir, evidence));
    record = path.string();
  }
  const auto verdict = std::string(manifest::verdict_name(evidence.verdict));
  if (common.json) {
    Value document = evidence.details.is_object() ? evidence.details : Value::object();
    document.set("verdict", verdict);
    document.set("summary", evidence.summary);
    io.out << to_json(document) << '\n';
  } else {
    io.out << text;
    if (!text.empty() && text.back() != '\n') io.out << '\n';
    io.out << verdict << ": " << evidence.summary << '\n';
  }
  log::debug("evidence record: " + record);
  switch (evidence.verdict) {
    case manifest::EvidenceVerdict::kPass:
      return ExitCode::kOk;
    case manifest::EvidenceVerdict::kFail:
      return ExitCode::kCheckFailed;
    case manifest::EvidenceVerdict::kIncomplete:
      break;
  }
  return ExitCode::kNoVerdict;
}

int run_program(int argc, char** argv) {
  install_interrupt_handlers();
  program().argv.assign(argv, argv + argc);
  try {
    return parse_and_run(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "calkit: error: unexpected exception: " << e.what() << "\n  fix:   this is a defect in calkit\n";
  } catch (...) {
    std::cerr << "calkit: error: unexpected exception\n  fix:   this is a defect in calkit\n";
  }
  return static_cast<int>(ExitCode::kBug);
}

}  // namespace calkit::cli
