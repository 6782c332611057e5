#include "calkit/manifest/check.h"

#include <fmt/format.h>

#include <charconv>

#include "calkit/base/files.h"
#include "calkit/base/text.h"

namespace calkit::embedded {
extern const std::string_view schema_service, schema_project, schema_device_profile, schema_thresholds, schema_waivers,
    schema_support, schema_op_support, schema_custom_operators;
}

namespace calkit::manifest {

namespace {

constexpr std::uint64_t kMaxBytes = 16u << 20;  // a manifest is written by hand

/// In the order of manifest_kinds(); empty: only the reader knows.
std::string_view schema_text(std::size_t kind) {
  const std::string_view texts[] = {
      embedded::schema_service,    embedded::schema_project,    embedded::schema_device_profile,
      embedded::schema_thresholds, embedded::schema_waivers,    "",
      embedded::schema_support,    embedded::schema_op_support, embedded::schema_custom_operators};
  return texts[kind];
}

std::string schema_word(const Value& schema) {
  return schema.is_string() ? *schema.if_string() : to_json(schema, {true, -1});
}

std::string known_schemas() {
  std::string out;
  for (const auto& kind : manifest_kinds())
    out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", kind.schema, kind.name);
  return out;
}

/// A decimal as it stands in the file: 1.10 is the double 1.1, and its reader must find it again.
std::string spelling_at(std::string_view text, const ManifestProblem& problem) {
  for (std::uint32_t line = 1; line < problem.line && !text.empty(); ++line)
    text.remove_prefix(std::min(text.size(), std::min(text.find('\n'), text.size()) + 1));
  if (problem.line == 0 || problem.column == 0 || problem.column > text.size()) return problem.found;
  text.remove_prefix(problem.column - 1);
  text = text.substr(0, text.find_first_not_of("+-.0123456789eE"));
  const auto value = [](std::string_view number) -> std::optional<double> {
    double out = 0;
    const auto [end, bad] = std::from_chars(number.data(), number.data() + number.size(), out);
    return bad == std::errc{} && end == number.data() + number.size() ? std::optional(out) : std::nullopt;
  };
  const auto found = value(problem.found);
  return found && text.find('.') != std::string_view::npos && value(text) == found ? std::string(text) : problem.found;
}

ManifestProblem unknown_schema(const Value& document, const Value* schema) {
  const Value& at = schema == nullptr ? document : *schema;
  ManifestProblem out{
      at.line,         at.column, "/schema", "unknown schema", schema == nullptr ? "nothing" : schema->describe(),
      known_schemas(), ""};
  if (!document.is_object()) out.message = "no mapping with a `schema`";
  if (document.is_object() && schema == nullptr)
    out.message = "there is no `schema`, so that nobody knows what this is";
  std::vector<std::string> known;
  for (const auto& kind : manifest_kinds()) known.emplace_back(kind.schema);
  if (schema != nullptr && schema->is_string()) out.nearest = nearest_word(*schema->if_string(), known);
  return out;
}

}  // namespace

const std::vector<ManifestKind>& manifest_kinds() {
  static const std::vector<ManifestKind> kinds = {
      {"service manifest", "1"},
      {"project file", "calkit.project/1"},
      {"device profile", "calkit.device-profile/1"},
      {"thresholds", "calkit.thresholds/1"},
      {"waivers", "calkit.waivers/1"},
      {"dialect", "calkit.dialect/1"},
      {"support matrix", "calkit.support/1"},
      {"operator support matrix", "calkit.op-support/1"},
      {"operator descriptions", "calkit.custom-operators/1"},
  };
  return kinds;
}

ManifestProblem problem_of(const Error& error, const std::string& file) {
  ManifestProblem out;
  std::string_view text = error.message;
  if (text.starts_with(file + ":")) text.remove_prefix(file.size() + 1);
  const auto digits = text.substr(0, text.find(':'));
  if (const auto line = parse_decimal_u64(digits); line && *line <= UINT32_MAX) {
    out.line = static_cast<std::uint32_t>(*line);
    text.remove_prefix(std::min(text.size(), digits.size() + 1));
  }
  if (text.starts_with(' ')) text.remove_prefix(1);
  if (text.starts_with('/')) {
    out.pointer = text.substr(0, text.find(": "));
    text.remove_prefix(std::min(text.size(), out.pointer.size() + 2));
  }
  constexpr std::string_view kFound = "found ", kAllowed = "; allowed: ";
  if (const auto at = text.rfind(kAllowed); text.starts_with(kFound) && at != std::string_view::npos) {
    out.found = text.substr(kFound.size(), at - kFound.size());
    out.allowed = text.substr(at + kAllowed.size());
    text = "refused";
  }
  out.message = text;
  if (!error.hint.empty()) out.message += fmt::format(" ({})", error.hint);
  return out;
}

Result<ManifestCheck> check_manifest(const std::filesystem::path& path) {
  CALKIT_TRY(const std::string text, read_file(path, kMaxBytes));
  ManifestCheck out;
  const std::string file = path.string();
  const auto document = path.extension() == ".json" ? parse_json(text, file) : parse_yaml(text, file);
  if (!document.ok()) {
    out.problems.push_back(problem_of(document.error(), file));
    return out;
  }
  const Value* named = document->find("schema");
  for (std::size_t i = 0; named != nullptr && i < manifest_kinds().size(); ++i) {
    const bool number = manifest_kinds()[i].schema == "1";
    if (schema_word(*named) != manifest_kinds()[i].schema || named->is_integer() != number) continue;
    out.kind = &manifest_kinds()[i];
    if (schema_text(i).empty()) return out;
    CALKIT_TRY(const Value schema, parse_json(schema_text(i), "an embedded schema"));
    CALKIT_TRY(out.problems, check_schema(*document, schema));
    for (auto& problem : out.problems) problem.found = spelling_at(text, problem);
    return out;
  }
  out.unknown_schema = true;
  out.problems.push_back(unknown_schema(*document, named));
  return out;
}

}  // namespace calkit::manifest
