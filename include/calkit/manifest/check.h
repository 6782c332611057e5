#pragma once
/// Holds a manifest against the JSON schema that its `schema` value names (manifests/schemas), and tells every problem
/// at once, where the readers stop at the first.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "calkit/base/document.h"

namespace calkit::manifest {

struct ManifestProblem {
  std::uint32_t line = 0, column = 0;  ///< 0: unknown
  std::string pointer;                 ///< JSON pointer; "" is the document
  std::string message, found, allowed;
  std::string nearest;  ///< the known key or word that was probably meant; may be empty
};

/// A kind of document that can be checked.
struct ManifestKind {
  std::string_view name;    ///< "service manifest"
  std::string_view schema;  ///< its `schema` value as text: "1", "calkit.project/1"
};
const std::vector<ManifestKind>& manifest_kinds();

struct ManifestCheck {
  const ManifestKind* kind = nullptr;     ///< nullptr: the file could not be parsed or names no known schema
  bool unknown_schema = false;            ///< there is a document, but of no schema known here
  std::vector<ManifestProblem> problems;  ///< sorted by line, column, pointer
};
/// Parses .json as JSON and everything else as YAML. kInput, kIo: the file cannot be read at all.
Result<ManifestCheck> check_manifest(const std::filesystem::path& path);
/// What an Error of a strict reader says, as a problem of that file.
ManifestProblem problem_of(const Error& error, const std::string& file);

/// The part of JSON Schema draft 7 that manifests/schemas use. kInternal: the schema has a keyword that is not known
/// here.
Result<std::vector<ManifestProblem>> check_schema(const Value& document, const Value& schema);

}  // namespace calkit::manifest
