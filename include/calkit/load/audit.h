#pragma once
/// Is a CSV of service figures fit to be a baseline? One legacy tool writes prompt_ms + predicted_ms, the time to the
/// last token, as TTFT, and one constant as the name of every model.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calkit/base/csv.h"
#include "calkit/base/value.h"
#include "calkit/manifest/evidence.h"

namespace calkit::load {

struct CsvAudit {
  std::uint64_t rows = 0;
  /// Columns by what they were taken for; nullopt: the table has none.
  std::optional<std::string> ttft, prompt, predicted, end_to_end, model;
  std::uint64_t rows_summed = 0;    ///< whose TTFT is prompt + predicted, as far as the printed digits tell
  std::vector<std::string> faults;  ///< why it is refused, one sentence each
  std::vector<std::string> open;    ///< what the table cannot show
};

/// @param model the model that was measured, as the table should name it; empty: not told.
/// kInput: no rows. What is wrong with the figures is a fault, not an error.
Result<CsvAudit> audit_csv(const CsvTable& table, const std::string& file, const std::string& model);

Value to_value(const CsvAudit& audit);  ///< schema calkit.csv-audit/1
std::string to_text(const CsvAudit& audit);
/// pass, fail with faults, incomplete where something is open and nothing is wrong.
void record(const CsvAudit& audit, manifest::Evidence& evidence);

}  // namespace calkit::load
