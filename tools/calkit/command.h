#pragma once
/// What a subcommand file provides: options -> one library call -> rendering. No logic of its own.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "calkit/base/result.h"
#include "calkit/manifest/evidence.h"
#include "calkit/manifest/targets.h"

namespace calkit::cli {

/// Exit codes (docs/architecture.md). An Error becomes one of them through exit_code_of().
enum class ExitCode {
  kOk = 0,
  kCheckFailed = 1,
  kUsage = 2,
  kNoVerdict = 3,
  kDevice = 4,
  kBug = 70,
  kInterrupted = 130
};
ExitCode exit_code_of(ErrorKind kind);

struct Streams {
  std::ostream& out;
  std::ostream& err;
};

/// Options every command has.
struct Common {
  bool json = false;                      ///< --json: one JSON document on stdout and nothing else
  std::string evidence_dir = "evidence";  ///< --evidence DIR; "none" writes no record
  std::vector<std::string> argv;
};

using RunFunction = std::function<Result<ExitCode>(const Common&, Streams)>;

/// Adds a subcommand. `examples` come first in its help. The returned App takes the options; `run` reads the struct
/// they fill.
/// --json, --evidence and --verbose are added to every command, and every option gets its CALKIT_... environment twin.
/// A command with subcommands of its own (freeze-baseline model) passes its App as `root`.
CLI::App* add_command(CLI::App& root, const std::string& name, const std::string& summary, const std::string& examples,
                      RunFunction run);
/// A command that only holds subcommands.
CLI::App* add_group(CLI::App& root, const std::string& name, const std::string& summary, const std::string& examples);

/// Ends a judging command: fills verdict and summary, writes the record (unless "none"), prints the document as JSON or
/// the text followed by the summary line "pass: SUMMARY", and returns the exit code of the verdict.
Result<ExitCode> finish(const Common& common, Streams io, manifest::Evidence evidence, const std::string& text);

/// Accepts plain decimal numbers from min to max and nothing else: no sign, no clamping, no wrap.
CLI::Validator whole_number(std::uint64_t min, std::uint64_t max);

/// Adds the options of the product targets: --project, --context, --batch, --kv-dtype. Flags win over the project file.
struct TargetOptions {
  std::string project;
  std::int64_t context = 0, batch = 0;  ///< 0: not given
  std::string kv_dtype;
};
void add_target_options(CLI::App& app, TargetOptions& options);
Result<manifest::ProductTargets> resolve_targets(const TargetOptions& options);

/// The whole program: parses, runs, prints the error if there is one, returns the exit code. Nothing escapes it.
int run_program(int argc, char** argv);

/// One line per subcommand; main.cpp walks this list, and so do the tests of docs/cli.
struct Registration {
  const char* name;
  void (*add)(CLI::App& root);
};
const std::vector<Registration>& registrations();

}  // namespace calkit::cli
