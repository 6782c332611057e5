#pragma once
/// calbin-lint --dump-canonical.
#include <string>

#include "command.h"

namespace calkit::cli {

struct DumpOptions {
  bool wanted = false;      ///< --dump-canonical
  bool source_map = false;  ///< --source-map
};
void add_dump_options(CLI::App& app, DumpOptions& options);

/// Prints the package's description in the canonical form, sealed; with the source map, that and where each value came
/// from as one document. Judges nothing.
/// @param dialects folder of further dialects, or empty
Result<ExitCode> dump_canonical(const std::string& package, const std::string& dialects, const DumpOptions& options,
                                Streams io);

}  // namespace calkit::cli
