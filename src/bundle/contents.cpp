// bundle.json and SHA256SUMS.
#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/files.h"
#include "calkit/base/text.h"
#include "calkit/bundle/bundle.h"

namespace calkit::bundle {
namespace {

bool is_sha256(std::string_view text) {
  return text.size() == 64 &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Result<std::string> sha256_at(const Cursor& at, std::string_view key) {
  CALKIT_TRY(const Cursor field, at.at(key));
  CALKIT_TRY(const std::string text, field.as_string());
  constexpr std::string_view kPrefix = "sha256:";
  if (!text.starts_with(kPrefix) || !is_sha256(std::string_view(text).substr(kPrefix.size())))
    return field.error(field.value().describe(), "sha256: and 64 lower-case hex digits");
  return text.substr(kPrefix.size());
}

Result<BundleFile> parse_file(const Cursor& at) {
  CALKIT_CHECK_OK(at.only({"path", "role", "sha256", "bytes"}));
  BundleFile file;
  CALKIT_TRY(file.path, at.string("path"));
  if (const std::string why = unsafe_path_reason(file.path); !why.empty())
    return at.error(file.path, "a path inside the bundle: " + why);
  CALKIT_TRY(const Cursor role, at.at("role"));
  CALKIT_TRY(file.role, role.as_word({"package", "baseline", "onnx", "service", "evidence", "licence", "readme"}));
  CALKIT_TRY(file.sha256, sha256_at(at, "sha256"));
  CALKIT_TRY(file.bytes, at.uinteger("bytes"));
  return file;
}

Status parse_left_out(const Cursor& root, Contents& out) {
  CALKIT_TRY(const Cursor list, root.at("records_left_out"));
  CALKIT_TRY(const auto items, list.items());
  for (const Cursor& item : items) {
    CALKIT_CHECK_OK(item.only({"record", "reason"}));
    CALKIT_TRY(auto name, item.string("record"));
    CALKIT_TRY(auto reason, item.string("reason"));
    out.left_out.emplace_back(std::move(name), std::move(reason));
  }
  return {};
}

Status parse_proven(const Cursor& root, Contents& out) {
  CALKIT_TRY(const Cursor proven, root.at("proven"));
  CALKIT_TRY(const auto members, proven.members());
  for (const auto& [command, at] : members) {
    CALKIT_TRY(out.proven[command], at.as_word({"satisfied", "failed", "incomplete", "stale", "missing", "open"}));
  }
  CALKIT_TRY(out.unproven_allowed, root.boolean("unproven_allowed"));
  return {};
}

}  // namespace

Result<Contents> parse_contents(std::string_view bundle_json, std::string_view file) {
  CALKIT_TRY(const Value document, parse_json(bundle_json, file));
  const Cursor root(document, std::string(file));
  CALKIT_CHECK_OK(root.only(
      {"schema", "package", "baseline", "onnx", "proven", "unproven_allowed", "records_left_out", "licence", "files"}));
  CALKIT_TRY(const Cursor schema, root.at("schema"));
  CALKIT_TRY(const std::string ignored, schema.as_word({"calkit.bundle/1"}));
  Contents out;
  CALKIT_TRY(out.package_sha256, sha256_at(root, "package"));
  CALKIT_TRY(out.baseline_sha256, sha256_at(root, "baseline"));
  CALKIT_TRY(out.onnx_sha256, sha256_at(root, "onnx"));
  CALKIT_CHECK_OK(parse_proven(root, out));
  CALKIT_CHECK_OK(parse_left_out(root, out));
  if (const auto licence = root.find("licence")) {
    CALKIT_TRY(out.licence, licence->as_string());
  }
  CALKIT_TRY(const Cursor list, root.at("files"));
  CALKIT_TRY(const auto items, list.items());
  for (const Cursor& item : items) {
    CALKIT_TRY(auto entry, parse_file(item));
    if (!out.files.empty() && entry.path <= out.files.back().path)
      return item.error(entry.path, "paths in ascending order, none twice");
    out.files.push_back(std::move(entry));
  }
  return out;
}

Value to_value(const Contents& c) {
  Value proven = Value::object(), left_out = Value::array(), files = Value::array();
  for (const auto& [command, state] : c.proven) proven.set(command, state);
  for (const auto& [name, reason] : c.left_out) left_out.push(Value::object({{"record", name}, {"reason", reason}}));
  for (const BundleFile& f : c.files)
    files.push(
        Value::object({{"path", f.path}, {"role", f.role}, {"sha256", "sha256:" + f.sha256}, {"bytes", f.bytes}}));
  return Value::object({{"schema", "calkit.bundle/1"},
                        {"package", "sha256:" + c.package_sha256},
                        {"baseline", "sha256:" + c.baseline_sha256},
                        {"onnx", "sha256:" + c.onnx_sha256},
                        {"proven", std::move(proven)},
                        {"unproven_allowed", c.unproven_allowed},
                        {"records_left_out", std::move(left_out)},
                        {"licence", c.licence},
                        {"files", std::move(files)}});
}

Result<std::map<std::string, std::string>> parse_sums(std::string_view text, std::string_view file) {
  std::map<std::string, std::string> out;
  if (text.find('\r') != std::string_view::npos)
    return input_error(file, "", "lines that end in CR LF", "lines that end in LF",
                       "write the list with LF line ends: sha256sum reads it otherwise");
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos)
      return input_error(file, fmt::format("line {}", number), "no line feed at the end", "LF after each line");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (line.size() < 67 || !is_sha256(line.substr(0, 64)) || line.substr(64, 2) != "  ")
      return input_error(file, fmt::format("line {}", number), fmt::format("{} bytes", line.size()),
                         "64 lower-case hex digits, two spaces, a path");
    const std::string path(line.substr(66));
    if (const std::string why = unsafe_path_reason(path); !why.empty())
      return input_error(file, fmt::format("line {}", number), path, "a path inside the folder: " + why);
    if (!out.emplace(path, line.substr(0, 64)).second)
      return input_error(file, fmt::format("line {}", number), path, "each path once");
  }
  return out;
}

}  // namespace calkit::bundle
