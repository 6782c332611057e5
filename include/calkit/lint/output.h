#pragma once
/// The formats of a report. All are sorted and hold no time and no path of this machine: same report, same bytes.
#include "calkit/lint/lint.h"

namespace calkit::lint {

enum class Format { kText, kJson, kSarif, kJunit, kGithub };
/// "text", "json", "sarif", "junit" or "github". kUsage: another word.
Result<Format> parse_format(std::string_view text);

struct RenderOptions {
  bool colour = false;  ///< of text
  std::string
      path_prefix;  ///< put before the package's files in sarif and github: where the package lies in the repository
};
/// The whole document, with a final line feed unless empty.
std::string render(const Report& report, Format format, const RenderOptions& options = {});

}  // namespace calkit::lint
