#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/files.h"
#include "calkit/base/hash.h"
#include "calkit/manifest/evidence.h"
#include "calkit/manifest/targets.h"
#include "evidence_format.h"

namespace calkit::manifest {

bool is_lower_hex(std::string_view text, std::size_t length) {
  return text.size() == length && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_command_name(std::string_view text) {
  return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

namespace {
/// True when `text` has the form of `pattern`, where 'd' stands for a digit.
bool has_form(std::string_view text, std::string_view pattern) {
  return std::equal(text.begin(), text.end(), pattern.begin(), pattern.end(),
                    [](char c, char p) { return p == 'd' ? c >= '0' && c <= '9' : c == p; });
}
}  // namespace

bool is_utc_time(std::string_view text) {
  return has_form(text, "dddd-dd-ddTdd:dd:ddZ");
}

std::string_view record_digits(std::string_view file_name) {
  constexpr std::string_view kTail = "-ddddddddTddddddZ-";
  constexpr std::string_view kExtension = ".json";
  if (!file_name.ends_with(kExtension)) return {};
  file_name.remove_suffix(kExtension.size());
  if (file_name.size() <= kTail.size() + kNameDigits) return {};
  const std::string_view digits = file_name.substr(file_name.size() - kNameDigits);
  file_name.remove_suffix(kNameDigits);
  const std::string_view tail = file_name.substr(file_name.size() - kTail.size());
  const std::string_view command = file_name.substr(0, file_name.size() - kTail.size());
  return has_form(tail, kTail) && is_command_name(command) && is_lower_hex(digits, kNameDigits) ? digits
                                                                                                : std::string_view{};
}

namespace {

Result<std::vector<EvidenceFile>> parse_files(const Cursor& at) {
  CALKIT_TRY(const auto items, at.items());
  std::vector<EvidenceFile> files;
  for (const Cursor& item : items) {
    CALKIT_CHECK_OK(item.only({"role", "path", "sha256", "bytes"}));
    EvidenceFile file;
    CALKIT_TRY(file.role, item.string("role"));
    CALKIT_TRY(file.path, item.string("path"));
    CALKIT_TRY(const Cursor digest, item.at("sha256"));
    CALKIT_TRY(const std::string text, digest.as_string());
    constexpr std::size_t kHexDigits = 64;
    if (!text.starts_with(kDigestPrefix) || !is_lower_hex(text.substr(kDigestPrefix.size()), kHexDigits))
      return digest.error(digest.value().describe(), "sha256: and 64 lower-case hex digits");
    file.sha256 = text.substr(kDigestPrefix.size());
    CALKIT_TRY(file.bytes, item.uinteger("bytes"));
    files.push_back(std::move(file));
  }
  return files;
}

Result<std::vector<Figure>> parse_figures(const Cursor& at) {
  CALKIT_TRY(const auto items, at.items());
  std::vector<Figure> figures;
  for (const Cursor& item : items) {
    CALKIT_CHECK_OK(item.only({"name", "value", "unit", "n", "how"}));
    Figure figure;
    CALKIT_TRY(figure.name, item.string("name"));
    CALKIT_TRY(figure.unit, item.string("unit"));
    CALKIT_TRY(figure.how, item.string("how"));
    CALKIT_TRY(const Cursor value, item.at("value"));
    if (!value.value().is_null()) {
      CALKIT_TRY(figure.value, value.as_number());
    } else if (figure.how.empty()) {
      return item.error("a null value without a reason", "a value, or null and the reason in 'how'");
    }
    CALKIT_TRY(const Cursor count, item.at("n"));
    if (!count.value().is_null()) {
      CALKIT_TRY(figure.n, count.as_uint());
    }
    figures.push_back(std::move(figure));
  }
  return figures;
}

Result<std::vector<std::string>> parse_texts(const Cursor& at) {
  CALKIT_TRY(const auto items, at.items());
  std::vector<std::string> texts;
  for (const Cursor& item : items) {
    CALKIT_TRY(std::string text, item.as_string());
    texts.push_back(std::move(text));
  }
  return texts;
}

Result<std::optional<std::string>> parse_text_or_null(const Cursor& at, std::string_view key) {
  CALKIT_TRY(const Cursor field, at.at(key));
  if (field.value().is_null()) return std::optional<std::string>{};
  CALKIT_TRY(std::string text, field.as_string());
  return std::optional<std::string>(std::move(text));
}

Result<EvidenceDevice> parse_device(const Cursor& at) {
  CALKIT_CHECK_OK(at.only({"kind", "name", "runtime_version", "driver_version", "firmware_version"}));
  EvidenceDevice device;
  CALKIT_TRY(const Cursor kind, at.at("kind"));
  CALKIT_TRY(device.kind, kind.as_word({"none", "emulated", "plugin"}));
  CALKIT_TRY(device.name, at.string("name"));
  CALKIT_TRY(device.runtime_version, parse_text_or_null(at, "runtime_version"));
  CALKIT_TRY(device.driver_version, parse_text_or_null(at, "driver_version"));
  CALKIT_TRY(device.firmware_version, parse_text_or_null(at, "firmware_version"));
  return device;
}

Result<std::string> parse_time(const Cursor& at, std::string_view key) {
  CALKIT_TRY(const Cursor field, at.at(key));
  CALKIT_TRY(std::string text, field.as_string());
  if (!is_utc_time(text)) return field.error(field.value().describe(), "a UTC time such as \"2026-01-31T12:00:00Z\"");
  return text;
}

Status parse_env(const Cursor& at, Evidence& evidence) {
  CALKIT_CHECK_OK(
      at.only({"host", "calkit_version", "calkit_commit", "argv", "started_utc", "finished_utc", "duration_s"}));
  CALKIT_TRY(const Cursor host, at.at("host"));
  CALKIT_CHECK_OK(host.only({"cpu", "cores", "memory_bytes", "kernel"}));
  CALKIT_TRY(const Cursor argv, at.at("argv"));
  CALKIT_TRY(evidence.argv, parse_texts(argv));
  CALKIT_TRY(evidence.started_utc, parse_time(at, "started_utc"));
  CALKIT_TRY(evidence.finished_utc, parse_time(at, "finished_utc"));
  CALKIT_TRY(evidence.duration_s, at.number("duration_s"));
  return {};
}

Result<EvidenceVerdict> parse_verdict(const Cursor& at) {
  CALKIT_TRY(const std::string word, at.as_word({"pass", "fail", "incomplete"}));
  if (word == "pass") return EvidenceVerdict::kPass;
  return word == "fail" ? EvidenceVerdict::kFail : EvidenceVerdict::kIncomplete;
}

Result<Evidence> parse_evidence(const Cursor& root) {
  CALKIT_CHECK_OK(root.only({"schema", "command", "device", "inputs", "outputs", "figures", "verdict", "findings",
                             "summary", "targets", "details", "env"}));
  CALKIT_TRY(const Cursor schema, root.at("schema"));
  CALKIT_TRY(const std::string word, schema.as_word({kEvidenceSchema}));
  static_cast<void>(word);
  Evidence evidence;
  CALKIT_TRY(evidence.command, root.string("command"));
  CALKIT_TRY(const Cursor device, root.at("device"));
  CALKIT_TRY(evidence.device, parse_device(device));
  CALKIT_TRY(const Cursor inputs, root.at("inputs"));
  CALKIT_TRY(evidence.inputs, parse_files(inputs));
  CALKIT_TRY(const Cursor outputs, root.at("outputs"));
  CALKIT_TRY(evidence.outputs, parse_files(outputs));
  CALKIT_TRY(const Cursor figures, root.at("figures"));
  CALKIT_TRY(evidence.figures, parse_figures(figures));
  CALKIT_TRY(const Cursor verdict, root.at("verdict"));
  CALKIT_TRY(evidence.verdict, parse_verdict(verdict));
  CALKIT_TRY(const Cursor findings, root.at("findings"));
  CALKIT_TRY(evidence.findings, parse_texts(findings));
  CALKIT_TRY(evidence.summary, root.string("summary"));
  CALKIT_TRY(const Cursor targets, root.at("targets"));
  if (!targets.value().is_null()) {
    CALKIT_TRY(const ProductTargets checked, parse_targets(targets));
    static_cast<void>(checked);
  }
  evidence.targets = targets.value();
  CALKIT_TRY(const Cursor details, root.at("details"));
  evidence.details = details.value();
  CALKIT_TRY(const Cursor env, root.at("env"));
  CALKIT_CHECK_OK(parse_env(env, evidence));
  return evidence;
}

}  // namespace

Result<Evidence> read_evidence(const std::filesystem::path& path) {
  CALKIT_TRY(const std::string text, read_file(path), "reading an evidence record");
  // A record's name carries its own digest, so an edited record gives itself away.
  const std::string name = path.filename().string();
  const std::string_view stated = record_digits(name);
  const std::string found = sha256_hex(text).substr(0, kNameDigits);
  if (!stated.empty() && stated != found) {
    return input_error(path.string(), {}, fmt::format("content with SHA-256 {}...", found),
                       fmt::format("{}..., as its name says", stated), "the record was changed after it was written");
  }
  CALKIT_TRY(const Value document, parse_json(text, path.string()));
  CALKIT_TRY(Evidence evidence, parse_evidence(Cursor(document, path.string())));
  evidence.file = path.string();
  return evidence;
}

Result<std::vector<Evidence>> read_evidence_dir(const std::filesystem::path& dir) {
  std::error_code problem;
  std::vector<Evidence> records;
  std::filesystem::directory_iterator entry(dir, problem);
  for (; !problem && entry != std::filesystem::directory_iterator(); entry.increment(problem)) {
    if (record_digits(entry->path().filename().string()).empty()) continue;
    CALKIT_TRY(Evidence record, read_evidence(entry->path()));
    records.push_back(std::move(record));
  }
  if (problem) return input_error(dir.string(), {}, problem.message(), "a folder of evidence records");
  std::sort(records.begin(), records.end(), [](const Evidence& a, const Evidence& b) {
    return std::tie(a.finished_utc, a.file) < std::tie(b.finished_utc, b.file);
  });
  return records;
}

}  // namespace calkit::manifest
