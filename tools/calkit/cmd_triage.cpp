#include <fmt/format.h>

#include <filesystem>

#include "calkit/hf/triage.h"
#include "command.h"

namespace calkit::cli {
namespace {

struct Options {
  std::string model, device_profile;
  TargetOptions targets;
};

manifest::Figure figure(std::string name, std::optional<std::uint64_t> value, std::string unit, std::string how) {
  manifest::Figure out{std::move(name), std::nullopt, std::move(unit), std::nullopt, std::move(how)};
  if (value) out.value = static_cast<double>(*value);
  return out;
}

std::string summary_of(const hf::TriageReport& report) {
  std::string failed;
  std::size_t failures = 0, notes = 0;
  for (const hf::TriageRule& rule : report.rules) {
    if (rule.verdict == hf::Verdict::kNote) ++notes;
    if (rule.verdict != hf::Verdict::kFail) continue;
    ++failures;
    failed += (failed.empty() ? "" : ", ") + rule.id;
  }
  if (failures == 0)
    return fmt::format("{} rules hold, {} note{}", report.rules.size() - notes, notes, notes == 1 ? "" : "s");
  return fmt::format("{} of {} rules fail: {}", failures, report.rules.size(), failed);
}

/// The record's inputs are what triage read: config.json and the tensor headers, not the weights.
Status add_model_inputs(const std::string& model, const hf::TriageReport& report, manifest::Evidence& evidence) {
  CALKIT_TRY(auto config, manifest::evidence_file("model-config", std::filesystem::path(model) / "config.json"));
  evidence.inputs.push_back(std::move(config));
  evidence.inputs.push_back({"model-headers", model, report.headers_sha256, report.headers_bytes});
  return {};
}

Result<ExitCode> run(const Options& opt, const Common& common, Streams io) {
  auto evidence = manifest::start_evidence("triage", common.argv);
  CALKIT_TRY(const auto targets, resolve_targets(opt.targets));
  CALKIT_TRY(const auto device, opt.device_profile.empty() ? manifest::default_device_profile()
                                                           : manifest::read_device_profile(opt.device_profile));
  CALKIT_TRY(const auto report, hf::triage(opt.model, targets, device), "looking at " + opt.model);
  CALKIT_CHECK_OK(add_model_inputs(opt.model, report, evidence), "hashing what was read");
  for (const auto& [role, path] : {std::pair{"project", opt.targets.project}, {"device-profile", opt.device_profile}}) {
    if (path.empty()) continue;
    CALKIT_TRY(auto file, manifest::evidence_file(role, path));
    evidence.inputs.push_back(std::move(file));
  }
  evidence.figures = {
      figure("parameters", report.parameters, "elements", "elements of all tensors, from their headers"),
      figure("weight_bytes", report.weight_bytes, "bytes", "bytes of all tensors, from their headers"),
      figure("kv_bytes", report.kv_bytes, "bytes",
             report.kv_bytes ? "layers * kv_heads * 2 * head_dim * context * batch * element bytes"
                             : "the model does not state layers, KV heads or head_dim"),
      figure("chiplet_usable_bytes", report.chiplet_usable_bytes, "bytes", "device profile " + device.name)};
  for (const hf::TriageRule& rule : report.rules)
    if (rule.verdict == hf::Verdict::kFail)
      evidence.findings.push_back(
          fmt::format("{}: found {}; allowed: {} ({})", rule.id, rule.found, rule.allowed, rule.source));
  evidence.verdict = report.passed() ? manifest::EvidenceVerdict::kPass : manifest::EvidenceVerdict::kFail;
  evidence.summary = summary_of(report);
  evidence.targets = manifest::to_value(targets);
  evidence.details = hf::to_value(report, targets, device);
  return finish(common, io, std::move(evidence), hf::to_text(report));
}

}  // namespace

void add_triage(CLI::App& root) {
  auto opt = std::make_shared<Options>();
  CLI::App* app = add_command(root, "triage", "Is this checkpoint fit for a first adaptation?",
                              "  calkit triage MODEL_DIR\n"
                              "  calkit triage MODEL_DIR --context 8192 --batch 4 --kv-dtype bf16\n"
                              "  calkit triage MODEL_DIR --project project.yaml --json",
                              [opt](const Common& common, Streams io) { return run(*opt, common, io); });
  app->add_option("MODEL_DIR", opt->model, "folder of the checkpoint: config.json and safetensors")->required();
  add_target_options(*app, opt->targets);
  app->add_option("--device-profile", opt->device_profile,
                  "chiplets and capacities of the device; default: the built-in profile")
      ->type_name("FILE");
}

}  // namespace calkit::cli
