#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calkit/base/files.h"
#include "calkit/base/hash.h"
#include "calkit/base/process.h"
#include "calkit/manifest/evidence.h"
#include "evidence_format.h"

namespace calkit::manifest {
namespace {

Value files_value(const std::vector<EvidenceFile>& files) {
  Value out = Value::array();
  for (const EvidenceFile& file : files) {
    out.push(Value::object({{"role", file.role},
                            {"path", file.path},
                            {"sha256", std::string(kDigestPrefix) + file.sha256},
                            {"bytes", file.bytes}}));
  }
  return out;
}

/// NaN and infinities have no place in JSON and none in a verdict: the figure becomes null and says so.
Figure finite(Figure figure) {
  if (figure.value && !std::isfinite(*figure.value)) {
    figure.how = fmt::format("the measured value was {}; {}", *figure.value, figure.how);
    figure.value.reset();
  }
  return figure;
}

Result<Value> figures_value(const std::vector<Figure>& figures) {
  Value out = Value::array();
  for (const Figure& given : figures) {
    const Figure figure = finite(given);
    if (!figure.value && figure.how.empty())
      return Error{ErrorKind::kInternal, fmt::format("figure '{}' has neither a value nor a reason", figure.name)};
    out.push(Value::object(
        {{"name", figure.name}, {"value", figure.value}, {"unit", figure.unit}, {"n", figure.n}, {"how", figure.how}}));
  }
  return out;
}

Value device_value(const EvidenceDevice& device) {
  return Value::object({{"kind", device.kind},
                        {"name", device.name},
                        {"runtime_version", device.runtime_version},
                        {"driver_version", device.driver_version},
                        {"firmware_version", device.firmware_version}});
}

Value env_value(const Evidence& evidence) {
  const HostFacts host = host_facts();
  return Value::object(
      {{"host",
        Value::object(
            {{"cpu", host.cpu}, {"cores", host.cores}, {"memory_bytes", host.memory_bytes}, {"kernel", host.kernel}})},
       {"calkit_version", calkit_version()},
       {"calkit_commit", calkit_commit()},
       {"argv", Value::list(evidence.argv)},
       {"started_utc", evidence.started_utc},
       {"finished_utc", evidence.finished_utc},
       {"duration_s", evidence.duration_s}});
}

/// "2026-01-31T12:00:00Z" -> "20260131T120000Z".
std::string compact_time(std::string text) {
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return text;
}

}  // namespace

std::string_view verdict_name(EvidenceVerdict verdict) {
  switch (verdict) {
    case EvidenceVerdict::kPass:
      return "pass";
    case EvidenceVerdict::kFail:
      return "fail";
    case EvidenceVerdict::kIncomplete:
      break;
  }
  return "incomplete";
}

Result<EvidenceFile> evidence_file(std::string role, const std::filesystem::path& path) {
  std::error_code problem;
  // A package counts by its files, whether they lie in a folder or in an archive.
  const bool tree = role == "calbin" || std::filesystem::is_directory(path, problem);
  CALKIT_TRY(const FileDigest digest, tree ? hash_tree(path) : hash_file(path), "hashing " + path.string());
  return EvidenceFile{std::move(role), path.string(), digest.sha256, digest.bytes};
}

Figure counted(std::string name, std::uint64_t value, std::string unit, std::string how) {
  return {std::move(name), static_cast<double>(value), std::move(unit), 1, std::move(how)};
}

Evidence start_evidence(std::string command, std::vector<std::string> argv) {
  Evidence evidence;
  evidence.command = std::move(command);
  evidence.argv = std::move(argv);
  evidence.started_utc = utc_now();
  evidence.started_at = std::chrono::steady_clock::now();
  return evidence;
}

Result<std::filesystem::path> write_evidence(const std::filesystem::path& dir, Evidence& evidence) {
  if (!is_command_name(evidence.command) || !is_utc_time(evidence.started_utc))
    return Error{ErrorKind::kInternal, fmt::format("evidence of '{}' was not started", evidence.command)};
  evidence.finished_utc = utc_now();
  evidence.duration_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - evidence.started_at).count();
  CALKIT_TRY(const Value figures, figures_value(evidence.figures));
  const Value document = Value::object({{"schema", kEvidenceSchema},
                                        {"command", evidence.command},
                                        {"device", device_value(evidence.device)},
                                        {"inputs", files_value(evidence.inputs)},
                                        {"outputs", files_value(evidence.outputs)},
                                        {"figures", figures},
                                        {"verdict", verdict_name(evidence.verdict)},
                                        {"findings", Value::list(evidence.findings)},
                                        {"summary", evidence.summary},
                                        {"targets", evidence.targets},
                                        {"details", evidence.details},
                                        {"env", env_value(evidence)}});
  const std::string text = to_json(document) + "\n";
  const std::string name = fmt::format("{}-{}-{}.json", evidence.command, compact_time(evidence.started_utc),
                                       sha256_hex(text).substr(0, kNameDigits));
  const std::filesystem::path path = dir / name;
  CALKIT_CHECK_OK(write_file(path, text), "writing the evidence record");
  evidence.file = path.string();
  return path;
}

}  // namespace calkit::manifest
