#include "dump_canonical.h"

#include <fmt/format.h>

#include <ostream>

#include "calkit/base/tree.h"
#include "calkit/calbin/dialect.h"
#include "calkit/calbin/reading.h"

namespace calkit::cli {

namespace {

Value source_value(const calbin::Source& source) {
  return Value::object(
      {{"pointer", source.pointer}, {"line", source.line}, {"column", source.column}, {"raw", source.raw}});
}

Value with_sources(const calbin::Canonical& canonical, Value document) {
  Value unmapped = Value::array();
  Value::Object rows;
  for (const auto& [pointer, source] : canonical.source_map()) rows.emplace_back(pointer, source_value(source));
  for (const auto& key : canonical.unmapped) unmapped.push(key.pointer);
  return Value::object({{"schema", "calkit.canonical/1"},
                        {"dialect", Value::object({{"id", canonical.dialect},
                                                   {"version", canonical.dialect_version},
                                                   {"digest", canonical.dialect_digest}})},
                        {"file", canonical.file},
                        {"file_digest", canonical.file_digest},
                        {"assumed", Value::list(canonical.assumed)},
                        {"unmapped", std::move(unmapped)},
                        {"sources", Value(std::move(rows))},
                        {"canonical", std::move(document)}});
}

}  // namespace

void add_dump_options(CLI::App& app, DumpOptions& options) {
  const char* group = "Dialects";
  auto* dump = app.add_flag("--dump-canonical", options.wanted, "print the description in the canonical form and stop");
  app.add_flag("--source-map", options.source_map, "with --dump-canonical: and where each value came from")
      ->needs(dump)
      ->group(group);
  dump->group(group);
}

Result<ExitCode> dump_canonical(const std::string& package, const std::string& dialects, const DumpOptions& options,
                                Streams io) {
  CALKIT_TRY(const auto known, dialects.empty() ? calbin::shipped_dialects() : calbin::dialects_with(dialects),
             "reading --dialects");
  CALKIT_TRY(const auto tree, FileTree::open(package), fmt::format("opening the package {}", package));
  CALKIT_TRY(const auto canonical,
             calbin::translate([&](std::string_view name) { return tree.read(name); }, known, package),
             fmt::format("opening the package {}", package));
  Value document = canonical.document;
  if (document.is_object()) document.set("seal", calbin::seal_of(document));
  io.out << to_json(options.source_map ? with_sources(canonical, std::move(document)) : document) << '\n';
  return ExitCode::kOk;
}

}  // namespace calkit::cli
