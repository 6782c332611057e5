#pragma once
/// What the formats of a report share.
#include "calkit/lint/lint.h"

namespace calkit::lint {

/// "error", "warning" or "note": blockers stop a package as errors do.
const char* level_name(Severity severity);
/// "calbin.json#/memory (line 12)".
std::string place_of(const Finding& finding);
/// Text of a package for people: what has no picture of its own (controls, bidirectional marks, bytes that are no
/// UTF-8) is written as \xNN or \u{NNNN}. `keep_lines` leaves newlines alone.
std::string visible(std::string_view text, bool keep_lines = false);
bool is_preview(const Report& report, const Finding& finding);
std::uint64_t count_preview(const Report& report);  ///< findings of preview rules that do not count
std::uint64_t count_waived(const Report& report);

Value to_sarif(const Report& report, const std::string& path_prefix);
std::string to_junit(const Report& report);
std::string to_github(const Report& report, const std::string& path_prefix);

}  // namespace calkit::lint
