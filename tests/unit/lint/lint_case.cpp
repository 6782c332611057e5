#include "lint_case.h"

#include <fstream>
#include <set>

#include "scratch_dir.h"

namespace calkit::lint {

using testing_support::ScratchDir;

Scene good_setup() {
  return {testing_support::good_package(), testing_support::good_service(), std::nullopt};
}

Result<Report> run_setup(const Scene& setup) {
  ScratchDir dir;
  return run_setup_in(setup, dir.path());
}

Result<Report> run_setup_in(const Scene& setup, const std::filesystem::path& dir) {
  auto package = setup.package;
  if (setup.profile) package.description.device.profile = setup.profile->name;  // planned for what judges it
  package.write(dir / "mini.calbin");
  Inputs inputs;
  inputs.package = dir / "mini.calbin";
  inputs.service = setup.service;
  inputs.profile = setup.profile;
  inputs.support = setup.support;
  if (std::filesystem::exists(dir / "dialects")) inputs.dialects = dir / "dialects";  // a case put it there
  if (setup.baseline) {
    std::filesystem::create_directories(dir / "baseline/model-source");
    std::ofstream(dir / "baseline/model-source/manifest.json") << *setup.baseline;
    inputs.baseline = dir / "baseline";
  }
  if (setup.while_hashing)
    inputs.progress = [&, first = true](std::uint64_t, std::uint64_t) mutable {
      if (std::exchange(first, false)) setup.while_hashing(inputs.package);
    };
  return run(inputs);
}

Ids finding_ids(const Report& report, Severity at_least) {
  std::set<std::string> ids;
  for (const auto& finding : report.findings)
    if (finding.severity >= at_least) ids.insert(finding.rule);
  return {ids.begin(), ids.end()};
}

Ids open_ids(const Report& report) {
  Ids out;
  for (const auto& outcome : report.rules)
    if (outcome.status == RuleStatus::kNotEvaluated) out.push_back(std::string(outcome.rule.id));
  return out;
}

std::vector<LintCase> all_cases() {
  std::vector<LintCase> out;
  for (const auto& part :
       {file_cases(), description_cases(), contract_cases(), memory_cases(), param_alias_unit_cases(),
        submodel_shape_cases(), content_cases(), provenance_cases(), golden_cases(), quant_cases(),
        partition_and_chip_cases(), command_cases(), contradiction_cases(), oplist_cases()})
    out.insert(out.end(), part.begin(), part.end());
  return out;
}

}  // namespace calkit::lint
