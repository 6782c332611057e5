#include "calkit/runner/run.h"

#include <fmt/format.h>

#include "calkit/base/log.h"

namespace calkit::runner {
namespace {

using Clock = std::chrono::steady_clock;

// "sha256:<hex>" and "<hex>" name the same digest.
std::string_view bare_hex(std::string_view digest) {
  constexpr std::string_view kPrefix = "sha256:";
  return digest.starts_with(kPrefix) ? digest.substr(kPrefix.size()) : digest;
}

Status check_digest(std::string_view what, std::string_view field, const std::string& package_name,
                    std::string_view in_package, const std::string& baseline_name, std::string_view in_baseline) {
  if (bare_hex(in_package) == bare_hex(in_baseline)) return {};
  return input_error(
      package_name, field, in_package,
      fmt::format("{} (the {} frozen in {})", bare_hex(in_baseline), what, baseline_name),
      "this package was made from another model: pack the model of this baseline, or name its own baseline");
}

// A baseline held against itself proves nothing: a peer is another implementation's goldens.
Status check_peer(const std::filesystem::path& peer, const std::filesystem::path& baseline) {
  std::error_code ignored;
  const bool same = std::filesystem::equivalent(peer, baseline, ignored);
  if (!same && !std::filesystem::exists(peer / "model-source", ignored)) return {};
  return input_error("--peer", peer.string(), same ? "the baseline itself" : "a baseline of our own (model-source/)",
                     "the goldens of another implementation", "leave --peer out to compare with the baseline");
}

Result<frozen::Reference> expected_reference(const RunOptions& options) {
  CALKIT_TRY(auto reference, frozen::read_reference(options.baseline), "reading --baseline");
  if (!options.peer) return reference;
  CALKIT_CHECK_OK(check_peer(*options.peer, options.baseline));
  CALKIT_TRY(const auto peer, frozen::read_reference(*options.peer, reference.dtype), "reading --peer");
  return expected_from_peer(reference, peer);
}

Result<Comparison> on_device(device::Device& device, const manifest::ServiceManifest& service,
                             const frozen::Reference& want, const RunOptions& options, RunReport& report) {
  CALKIT_TRY(auto session, device.configure(service, Deadline::in(options.timeout)), "configuring the package");
  report.configure = session.configure_report();
  device::SessionModel model(session);
  return compare_model(model, want, report.limits, options.timeout);
}

}  // namespace

Status check_same_model(const calbin::Description& package, const std::string& package_name,
                        const frozen::ModelSource& source, const std::string& baseline_name) {
  CALKIT_CHECK_OK(check_digest("config.json", "/model/config_digest", package_name, package.model.config_digest,
                               baseline_name, source.config_sha256));
  CALKIT_CHECK_OK(check_digest("tokenizer", "/model/tokenizer_digest", package_name, package.model.tokenizer_digest,
                               baseline_name, source.tokenizer_sha256));
  if (package.model.vocab != source.spec.vocab)
    return input_error(package_name, "/model/vocab", fmt::format("{}", package.model.vocab),
                       fmt::format("{} (the vocabulary frozen in {})", source.spec.vocab, baseline_name));
  return {};
}

Result<frozen::Reference> expected_from_peer(const frozen::Reference& baseline, const frozen::Reference& peer) {
  frozen::Reference out;
  out.dtype = peer.dtype;
  for (const frozen::ReferenceItem& item : baseline.items) {
    const frozen::ReferenceItem* other = peer.find(item.prompt.id);
    if (other == nullptr) continue;
    if (other->ids != item.ids)
      return Error(ErrorKind::kInput,
                   fmt::format("prompt '{}': the peer has {} token ids, the baseline {}, and they differ",
                               item.prompt.id, other->ids.size(), item.ids.size()),
                   "both must come from the same tokenizer and the same prompt");
    out.items.push_back(*other);
  }
  if (out.items.empty())
    return Error(ErrorKind::kInput, "the peer and the baseline share no prompt id",
                 "freeze the baseline with the peer's prompts too");
  return out;
}

Result<RunReport> run(const RunOptions& options) {
  RunReport report;
  report.expected_from = options.peer ? "peer" : "baseline";
  CALKIT_TRY(const auto service, manifest::read_service(options.service), "reading --service");
  CALKIT_TRY(const auto package, calbin::Package::open(options.package), "opening the package");
  CALKIT_CHECK_OK(frozen::require_verified(options.baseline), "reading --baseline");
  CALKIT_TRY(const auto source, frozen::read_model_source(options.baseline), "reading --baseline");
  CALKIT_CHECK_OK(check_same_model(package.description(), options.package.string(), source, options.baseline.string()));
  CALKIT_TRY(const auto want, expected_reference(options));
  if (options.thresholds) {
    CALKIT_TRY(report.limits, read_limits(*options.thresholds, want.dtype), "reading --thresholds");
  } else {
    CALKIT_TRY(report.limits, default_limits(want.dtype));
  }

  CALKIT_TRY(auto device, device::Device::open(options.device, options.builtin), "opening the device");
  report.runtime = device.info();
  CALKIT_CHECK_OK(device.status(), "asking the device for its status");
  const auto before = Clock::now();
  CALKIT_TRY(report.package, device.load(options.package), "loading the package");
  report.load_duration = Clock::now() - before;
  CALKIT_TRY(report.comparison, on_device(device, service, want, options, report));
  CALKIT_CHECK_OK(device.unload(), "unloading the package");
  CALKIT_TRY(report.left, device.counters(), "reading the device's counters");
  const device::Counters& left = report.left;
  if (left.buffers + left.mapped + left.kv_slots + left.jobs + left.packages > 0)
    report.comparison.findings.push_back(
        fmt::format("after release the device still holds {} buffers, {} mappings, {} KV slots, {} jobs, {} packages; "
                    "all must be 0",
                    left.buffers, left.mapped, left.kv_slots, left.jobs, left.packages));
  return report;
}

}  // namespace calkit::runner
