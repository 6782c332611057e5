#pragma once
// Pieces of the page that the sections share.
#include <optional>
#include <string>
#include <string_view>

#include "calkit/base/value.h"
#include "calkit/manifest/evidence.h"

namespace calkit::report {

/// "3.41 ms", "26.5 MiB", "1264 steps", or a dash for nullopt.
std::string figure_text(const std::optional<double>& value, std::string_view unit);
std::string badge(std::string_view css_class, std::string_view text);
std::string file_name(const manifest::Evidence& record);
/// The anchor of a record's section.
std::string anchor(const manifest::Evidence& record);

/// The command's own document: charts and tables of bench and soak, and a table for each array of flat objects.
std::string details_html(const Value& details);
/// The sections with charts; empty if the document is of another kind or lacks what they need.
std::string bench_html(const Value& details);
std::string soak_html(const Value& details);

}  // namespace calkit::report
