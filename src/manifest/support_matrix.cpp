#include "calkit/manifest/support_matrix.h"

#include <fmt/format.h>

#include "calkit/base/document.h"

namespace calkit::embedded {
extern const std::string_view support_matrix;
}

namespace calkit::manifest {
namespace {

Result<std::string> range_field(const Cursor& at, std::string_view key) {
  CALKIT_TRY(const Cursor field, at.at(key));
  CALKIT_TRY(std::string text, field.as_string());
  const auto range = VersionRange::parse(text);
  if (!range.ok()) return field.error(field.value().describe(), "any, an exact version, or bounds: \">=0.7.6 <0.8\"");
  return text;
}

Result<SupportRow> parse_row(const Cursor& at) {
  CALKIT_CHECK_OK(at.only({"runtime_abi", "driver", "firmware", "device", "supported", "reason"}));
  SupportRow row;
  CALKIT_TRY(row.key.runtime_abi, range_field(at, "runtime_abi"));
  CALKIT_TRY(row.key.driver, range_field(at, "driver"));
  CALKIT_TRY(row.key.firmware, range_field(at, "firmware"));
  CALKIT_TRY(row.key.device, at.string("device"));
  CALKIT_TRY(row.supported, at.boolean("supported"));
  CALKIT_TRY(row.reason, at.string("reason"));
  if (row.key.device.empty()) return at.error("an empty device", "a device's exact name, or any");
  if (row.reason.empty()) return at.error("an empty reason", "a sentence that says who stated it or why not");
  return row;
}

Result<SupportMatrix> parse_matrix(const Cursor& root) {
  CALKIT_CHECK_OK(root.only({"schema", "rows"}));
  CALKIT_TRY(const Cursor schema, root.at("schema"));
  CALKIT_TRY(const std::string word, schema.as_word({"calkit.support/1"}));
  static_cast<void>(word);
  CALKIT_TRY(const Cursor rows, root.at("rows"));
  CALKIT_TRY(const auto items, rows.items());
  if (items.empty()) return rows.error("no rows", "at least one");
  SupportMatrix out;
  out.source = root.file();
  for (const Cursor& item : items) {
    CALKIT_TRY(SupportRow row, parse_row(item));
    out.rows.push_back(std::move(row));
  }
  return out;
}

Result<SupportMatrix> parse_default() {
  const std::string file = "built-in manifests/support/emulated.yaml";
  CALKIT_TRY(const Value document, parse_yaml(embedded::support_matrix, file));
  return parse_matrix(Cursor(document, file));
}

/// Texts that are no ranges meet nothing; the reader refused them in rows.
bool meet(std::string_view a, std::string_view b) {
  const auto left = VersionRange::parse(a), right = VersionRange::parse(b);
  return left.ok() && right.ok() && left->meets(*right);
}

}  // namespace

const SupportRow* SupportMatrix::find(const Version& runtime, const SupportKey& package) const {
  for (const auto& row : rows) {
    const auto abi = VersionRange::parse(row.key.runtime_abi);
    const bool same_device = row.key.device == "any" || package.device == "any" || row.key.device == package.device;
    if (same_device && abi.ok() && abi->contains(runtime) && meet(row.key.driver, package.driver) &&
        meet(row.key.firmware, package.firmware))
      return &row;
  }
  return nullptr;
}

Result<SupportMatrix> read_support_matrix(const std::filesystem::path& path) {
  CALKIT_TRY(const Value document, read_yaml(path), "reading the support matrix");
  return parse_matrix(Cursor(document, path.string()));
}

const Result<SupportMatrix>& default_support_matrix() {
  static const Result<SupportMatrix> parsed = parse_default();
  return parsed;
}

}  // namespace calkit::manifest
