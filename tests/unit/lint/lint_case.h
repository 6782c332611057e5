#pragma once
/// The good package with one change, and exactly what lint must say of it.
#include <filesystem>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "calkit/lint/lint.h"
#include "package_builder.h"

namespace calkit::lint {

using Ids = std::vector<std::string>;

/// What a case may change.
struct Scene {
  testing_support::TestPackage package;
  std::optional<manifest::ServiceManifest> service;
  std::optional<manifest::DeviceProfile> profile = std::nullopt;
  std::optional<manifest::SupportMatrix> support = std::nullopt;  ///< nullopt: the built-in one
  std::optional<std::string> baseline = std::nullopt;             ///< model-source/manifest.json of a frozen baseline
  std::function<void(const std::filesystem::path&)> while_hashing = nullptr;  ///< after the first look at the package
};

struct LintCase {
  const char* name;  ///< a sentence about the change
  Ids expected;      ///< rules with a finding of warning or above, sorted
  std::function<void(Scene&)> change;
  Ids open = {};  ///< rules that could not be evaluated
};
inline void PrintTo(const LintCase& c, std::ostream* out) {
  *out << c.name;
}

std::vector<LintCase> file_cases();
std::vector<LintCase> description_cases();
std::vector<LintCase> contract_cases();
std::vector<LintCase> memory_cases();
std::vector<LintCase> param_alias_unit_cases();
std::vector<LintCase> submodel_shape_cases();
std::vector<LintCase> content_cases();
std::vector<LintCase> provenance_cases();
std::vector<LintCase> golden_cases();
std::vector<LintCase> quant_cases();
std::vector<LintCase> partition_and_chip_cases();
std::vector<LintCase> command_cases();
std::vector<LintCase> contradiction_cases();
std::vector<LintCase> oplist_cases();
std::vector<LintCase> all_cases();

/// Writes the package of a setup into a scratch folder and runs lint on it.
Result<Report> run_setup(const Scene& setup);
/// The same with the package left as `dir`/mini.calbin.
Result<Report> run_setup_in(const Scene& setup, const std::filesystem::path& dir);
Scene good_setup();
Ids finding_ids(const Report& report, Severity at_least = Severity::kWarning);
Ids open_ids(const Report& report);

}  // namespace calkit::lint
