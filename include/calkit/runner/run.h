#pragma once
/// The runner: opens a device, loads and configures a package, and holds it against the frozen baseline (or a peer's
/// goldens).
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "calkit/calbin/package.h"
#include "calkit/device/device.h"
#include "calkit/frozen/baseline.h"
#include "calkit/manifest/evidence.h"
#include "calkit/runner/compare.h"

namespace calkit::runner {

struct RunOptions {
  std::filesystem::path package, service, baseline;
  std::optional<std::filesystem::path>
      peer;  ///< goldens whose logits and tokens are expected instead of the baseline's
  std::optional<std::filesystem::path> thresholds;  ///< instead of the limits that are built in
  std::string device = "emu";
  calkit_device_entry_v1 builtin = nullptr;
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);  ///< of configure, and of each step
};

struct RunReport {
  device::RuntimeInfo runtime;
  device::PackageInfo package;
  device::ConfigureReport configure;
  std::chrono::nanoseconds load_duration{};
  device::Counters left;      ///< after everything was released
  std::string expected_from;  ///< "baseline" or "peer"
  Limits limits;
  Comparison comparison;
};

/// kInput: a damaged package, a service manifest that does not fit, a baseline that does not verify, a baseline of
/// another model, a peer with other token ids. kDevice and kTimeout carry the device's scope. A report with findings is
/// a verdict, not an error.
Result<RunReport> run(const RunOptions& options);

/// kInput unless the package was made from the model that the baseline froze (configuration, tokenizer, vocabulary).
Status check_same_model(const calbin::Description& package, const std::string& package_name,
                        const frozen::ModelSource& source, const std::string& baseline_name);

/// The peer's answers for the prompts both have. kInput if they share none, or if the token ids of a shared prompt
/// differ.
Result<frozen::Reference> expected_from_peer(const frozen::Reference& baseline, const frozen::Reference& peer);

/// The report document, schema calkit.runner/1 (docs/cli/runner.md).
Value to_value(const RunReport& report);
std::string to_text(const RunReport& report);
/// Fills device, figures, verdict, findings, summary and details.
void record(const RunReport& report, manifest::Evidence& evidence);

}  // namespace calkit::runner
