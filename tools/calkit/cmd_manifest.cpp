#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "calkit/base/files.h"
#include "calkit/calbin/dialect.h"
#include "calkit/lint/policy.h"
#include "calkit/manifest/check.h"
#include "calkit/manifest/custom_operators.h"
#include "calkit/manifest/op_support.h"
#include "calkit/manifest/service.h"
#include "calkit/manifest/support_matrix.h"
#include "calkit/manifest/targets.h"
#include "calkit/runner/limits.h"
#include "command.h"

namespace calkit::cli {
namespace {

struct Options {
  std::vector<std::string> files;
};

template <class T>
Status status_of(Result<T> result) {
  return result.ok() ? Status() : Status(std::move(result).error());
}

Status read_all_limits(const std::string& path) {
  CALKIT_TRY(const Value document, read_yaml(path));
  const Value* limits = document.find("limits");
  if (limits == nullptr || !limits->is_object()) return {};
  for (const auto& [dtype, ignored] : *limits->if_object())
    CALKIT_CHECK_OK(status_of(runner::read_limits(path, dtype)));
  return {};
}

Status read_dialect(const std::string& path) {
  CALKIT_TRY(const std::string text, read_file(path));
  CALKIT_CHECK_OK(status_of(calbin::parse_dialect(text, path)));
  return calbin::check_dialect_targets(text, path);
}

/// The reader that the commands use has the last word: it knows what a schema cannot say.
Status read_as(std::string_view schema, const std::string& path) {
  if (schema == "1") return status_of(manifest::read_service(path));
  if (schema == "calkit.project/1") return status_of(manifest::read_project(path));
  if (schema == "calkit.device-profile/1") return status_of(manifest::read_device_profile(path));
  if (schema == "calkit.support/1") return status_of(manifest::read_support_matrix(path));
  if (schema == "calkit.op-support/1") return status_of(manifest::read_op_support(path));
  if (schema == "calkit.custom-operators/1") return status_of(manifest::read_custom_operators(path));
  if (schema == "calkit.thresholds/1") return read_all_limits(path);
  if (schema == "calkit.waivers/1") return status_of(lint::read_waivers(path));
  if (schema == "calkit.dialect/1") return read_dialect(path);
  return Error(ErrorKind::kInternal, fmt::format("no reader for {}", schema));
}

/// The checks of one file: kIncomplete when nobody can say what it is.
struct FileVerdict {
  std::string path;
  manifest::ManifestCheck check;
  manifest::EvidenceVerdict verdict = manifest::EvidenceVerdict::kPass;
};

Result<FileVerdict> check_file(const std::string& path) {
  FileVerdict out;
  out.path = path;
  auto check = manifest::check_manifest(path);
  if (!check.ok() && check.error().kind == ErrorKind::kInternal) return std::move(check).error();
  if (!check.ok()) {
    out.check.problems.push_back(manifest::problem_of(check.error(), path));
    out.verdict = manifest::EvidenceVerdict::kIncomplete;
    return out;
  }
  out.check = std::move(check).value();
  if (out.check.problems.empty() && out.check.kind != nullptr)
    if (const Status read = read_as(out.check.kind->schema, path); !read.ok())
      out.check.problems.push_back(manifest::problem_of(read.error(), path));
  if (!out.check.problems.empty()) out.verdict = manifest::EvidenceVerdict::kFail;
  if (out.check.unknown_schema) out.verdict = manifest::EvidenceVerdict::kIncomplete;
  return out;
}

std::string text_of(const std::string& path, const manifest::ManifestProblem& problem) {
  std::string out = path;
  if (problem.line != 0) out += fmt::format(":{}", problem.line);
  if (problem.line != 0 && problem.column != 0) out += fmt::format(":{}", problem.column);
  out += ": error: ";
  if (!problem.pointer.empty()) out += problem.pointer + ": ";
  out += problem.message + "\n";
  if (!problem.found.empty()) out += fmt::format("  found: {}\n", problem.found);
  if (!problem.allowed.empty()) out += fmt::format("  limit: {}\n", problem.allowed);
  if (!problem.nearest.empty()) out += fmt::format("  fix:   did you mean '{}'?\n", problem.nearest);
  return out;
}

Value value_of(const manifest::ManifestProblem& problem) {
  const auto slash = problem.pointer.rfind('/');
  const auto text = [](const std::string& words) { return words.empty() ? Value(nullptr) : Value(words); };
  return Value::object({{"line", problem.line != 0 ? Value(problem.line) : Value(nullptr)},
                        {"column", problem.column != 0 ? Value(problem.column) : Value(nullptr)},
                        {"pointer", problem.pointer},
                        {"key", slash == std::string::npos ? Value(nullptr) : Value(problem.pointer.substr(slash + 1))},
                        {"message", problem.message},
                        {"found", text(problem.found)},
                        {"allowed", text(problem.allowed)},
                        {"nearest", text(problem.nearest)}});
}

Value value_of(const FileVerdict& file) {
  Value problems = Value::array();
  for (const auto& problem : file.check.problems) problems.push(value_of(problem));
  const auto* kind = file.check.kind;
  return Value::object({{"file", file.path},
                        {"kind", kind != nullptr ? Value(kind->name) : Value(nullptr)},
                        {"schema", kind != nullptr ? Value(kind->schema) : Value(nullptr)},
                        {"verdict", manifest::verdict_name(file.verdict)},
                        {"problems", std::move(problems)}});
}

Result<ExitCode> run_check(const Options& opt, const Common& common, Streams io) {
  auto evidence = manifest::start_evidence("manifest", common.argv);
  evidence.verdict = manifest::EvidenceVerdict::kPass;
  std::string text;
  Value files = Value::array();
  std::size_t problems = 0;
  for (const auto& path : opt.files) {
    CALKIT_TRY(const FileVerdict file, check_file(path));
    files.push(value_of(file));
    problems += file.check.problems.size();
    if (file.verdict == manifest::EvidenceVerdict::kPass)
      text += fmt::format("{}: {}: good\n", path, file.check.kind->name);
    for (const auto& problem : file.check.problems) {
      text += text_of(path, problem);
      evidence.findings.push_back(fmt::format("{}: {}: {}", path, problem.pointer, problem.message));
    }
    if (file.verdict == manifest::EvidenceVerdict::kIncomplete || evidence.verdict == manifest::EvidenceVerdict::kPass)
      evidence.verdict = file.verdict;
    if (auto hashed = manifest::evidence_file("manifest", path); hashed.ok())
      evidence.inputs.push_back(std::move(hashed).value());
  }
  evidence.summary = fmt::format("{} file{}, {} problem{}", opt.files.size(), opt.files.size() == 1 ? "" : "s",
                                 problems, problems == 1 ? "" : "s");
  evidence.figures = {manifest::counted("problems", problems, "problems", "counted over the files")};
  evidence.details = Value::object({{"schema", "calkit.manifest-check/1"}, {"files", std::move(files)}});
  return finish(common, io, std::move(evidence), text);
}

}  // namespace

void add_manifest(CLI::App& root) {
  CLI::App* group =
      add_group(root, "manifest", "Check the files that people write for calkit.",
                "  calkit manifest check service.yaml                every problem of a service manifest\n");
  auto opt = std::make_shared<Options>();
  CLI::App* app =
      add_command(*group, "check", "Hold manifests against their schemas and tell every problem.",
                  "  calkit manifest check service.yaml                every problem of a service manifest\n"
                  "  calkit manifest check manifests/*.yaml --json     one JSON document for all files",
                  [opt](const Common& common, Streams io) { return run_check(*opt, common, io); });
  app->add_option("FILE", opt->files, "service manifests, project files, device profiles, waivers, ...")->required();
}

}  // namespace calkit::cli
