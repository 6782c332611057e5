#pragma once
/// One self-contained HTML page of a run: the gates, every record, charts of bench and soak. No script, no outside
/// resource.
#include <string>
#include <vector>

#include "calkit/gate/gate.h"
#include "calkit/manifest/evidence.h"

namespace calkit::report {

/// calkit::escape_html, with blanks for control characters.
std::string escape_html(std::string_view text);

/// @param records oldest first; of several records of one command and state the newest of this ledger is shown in full.
std::string html(const std::vector<manifest::Evidence>& records, const gate::Report& gates);

}  // namespace calkit::report
