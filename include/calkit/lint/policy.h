#pragma once
/// How a report is judged: which rules were chosen, what fails, what is waived.
#include "calkit/lint/lint.h"

namespace calkit::lint {

/// "vendor", "dev", "ci" or "bundle": named settings (docs/cli/calbin-lint.md). kUsage: another name.
Result<Policy> policy_of_profile(std::string_view profile);
Result<Severity> parse_severity(std::string_view text);

/// Ids of the rules that run, sorted. Words are ids, names, family numbers or family names; no `select` means all
/// rules. Blockers are always among them. kUsage: an unknown word, or an `ignore` that would take out a blocker.
Result<std::vector<std::string>> choose_rules(const std::vector<std::string>& select,
                                              const std::vector<std::string>& ignore);

/// A waiver file, schema calkit.waivers/1, strict. kInput: unreadable, an unknown rule, or a blocker, which nobody
/// waives.
struct WaiverFile {
  std::vector<Waiver> waivers;
  std::string digest;  ///< "sha256:..." of the file
};
Result<WaiverFile> read_waivers(const std::filesystem::path& path);
Result<WaiverFile> parse_waivers(std::string_view text, const std::string& file);
/// The file without the entries that `report` calls stale.
std::string pruned(const WaiverFile& file, const Report& report);

/// Judges a report anew.
/// @param chosen  from choose_rules(); the others' findings are dropped and they are told as not applicable.
/// @param waivers nullptr: no waiver file.
/// @param today   "2026-01-31".
void judge(Report& report, const Policy& policy, const std::vector<std::string>& chosen, const WaiverFile* waivers,
           std::string_view today);

}  // namespace calkit::lint
