// What export and verify say.
#include <fmt/format.h>

#include "calkit/base/text.h"
#include "calkit/bundle/bundle.h"

namespace calkit::bundle {
namespace {

std::string proven_text(const Contents& c) {
  std::string out;
  for (const auto& [command, state] : c.proven) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", command, state);
  if (c.unproven_allowed) out += " (written with --allow-unproven)";
  return out;
}

std::string contents_text(const Contents& c) {
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> by_role;
  for (const BundleFile& file : c.files) {
    auto& [files, bytes] = by_role[file.role];
    ++files;
    bytes += file.bytes;
  }
  std::string out;
  for (const auto& [role, sum] : by_role)
    out += fmt::format("{:<9} {:>4} files {:>12}\n", role, sum.first, format_bytes(sum.second));
  out += fmt::format("package   {}\nproven    {}\n", c.package_sha256, proven_text(c));
  out += fmt::format("licence   {}\n", c.licence.value_or("the source holds no licence text"));
  for (const auto& [name, reason] : c.left_out) out += fmt::format("left out  {}: {}\n", name, reason);
  return out;
}

Value proven_value(const Contents& c) {
  Value out = Value::object();
  for (const auto& [command, state] : c.proven) out.set(command, state);
  return out;
}

}  // namespace

std::string to_text(const WriteReport& report) {
  return contents_text(report.contents) +
         fmt::format("bundle    {}  {}\n", report.bundle.sha256, format_bytes(report.bundle.bytes));
}

std::string to_text(const VerifyReport& report) {
  std::string out = report.contents ? contents_text(*report.contents) : std::string();
  out += fmt::format("bundle    {}  {} files, {} unpacked\n", report.bundle_sha256, report.files,
                     format_bytes(report.bytes));
  for (const std::string& finding : report.findings) out += fmt::format("finding   {}\n", finding);
  return out;
}

void record(const WriteReport& report, manifest::Evidence& evidence) {
  const Contents& c = report.contents;
  evidence.figures = {
      {"files", static_cast<double>(c.files.size()), "files", c.files.size(), "listed in bundle.json"},
      {"unpacked_bytes", static_cast<double>(report.unpacked_bytes), "B", c.files.size(), "sum over the files"},
      {"bundle_bytes", static_cast<double>(report.bundle.bytes), "B", 1, "size of the archive"},
  };
  // A record of another artefact that stays out is no fault of the bundle: it goes to the details.
  Value left_out = Value::array();
  for (const auto& [name, reason] : c.left_out) left_out.push(Value::object({{"record", name}, {"reason", reason}}));
  evidence.verdict = manifest::EvidenceVerdict::kPass;
  evidence.summary =
      fmt::format("{} files, {}, sha256 {}{}", c.files.size(), format_bytes(report.bundle.bytes),
                  report.bundle.sha256.substr(0, 12), c.unproven_allowed ? ", not proven (--allow-unproven)" : "");
  evidence.details = Value::object({{"schema", "calkit.export/1"},
                                    {"bundle_sha256", "sha256:" + report.bundle.sha256},
                                    {"bundle_bytes", report.bundle.bytes},
                                    {"files", c.files.size()},
                                    {"package", "sha256:" + c.package_sha256},
                                    {"proven", proven_value(c)},
                                    {"unproven_allowed", c.unproven_allowed},
                                    {"records_left_out", std::move(left_out)},
                                    {"licence", c.licence}});
}

void record(const VerifyReport& report, manifest::Evidence& evidence) {
  const bool good = report.findings.empty();
  evidence.figures = {{"files", static_cast<double>(report.files), "files", report.files, "read and hashed"},
                      {"findings", static_cast<double>(report.findings.size()), "findings", report.files, "counted"}};
  evidence.findings = report.findings;
  evidence.verdict = good ? manifest::EvidenceVerdict::kPass : manifest::EvidenceVerdict::kFail;
  evidence.summary = good ? fmt::format("{} files, every one as listed", report.files)
                          : fmt::format("{} findings; {}", report.findings.size(), report.findings.front());
  evidence.details = Value::object({{"schema", "calkit.export-verify/1"},
                                    {"bundle_sha256", "sha256:" + report.bundle_sha256},
                                    {"files", report.files},
                                    {"bytes", report.bytes},
                                    {"proven", report.contents ? proven_value(*report.contents) : Value()},
                                    {"findings", Value::list(report.findings)}});
}

}  // namespace calkit::bundle
