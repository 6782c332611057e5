#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calkit/model/contract_check.h"
#include "command.h"

namespace calkit::cli {
namespace {

struct Options {
  std::string graph, phase = "any";
  std::vector<std::string> fixed;
};

Result<ExitCode> run(const Options& opt, const Common& common, Streams io) {
  static const std::map<std::string, model::GraphPhase> kPhases = {{"prefill", model::GraphPhase::kPrefill},
                                                                   {"decode", model::GraphPhase::kDecode}};
  auto evidence = manifest::start_evidence("onnx-contract", common.argv);
  model::ContractWish wish;
  wish.fixed.insert(opt.fixed.begin(), opt.fixed.end());
  if (const auto phase = kPhases.find(opt.phase); phase != kPhases.end()) wish.phase = phase->second;
  CALKIT_TRY(const auto check, model::check_contract(opt.graph, wish));
  if (common.evidence_dir != "none") {
    CALKIT_TRY(auto input, manifest::evidence_file("graph", opt.graph));
    evidence.inputs.push_back(std::move(input));
  }
  for (const auto& finding : check.findings)
    if (finding.error)
      evidence.findings.push_back(
          fmt::format("{}: found {}; allowed: {}", finding.item, finding.found, finding.allowed));
  evidence.figures = {
      manifest::counted("contract_errors", evidence.findings.size(), "findings", "counted over the contract's items")};
  evidence.verdict = check.passed() ? manifest::EvidenceVerdict::kPass : manifest::EvidenceVerdict::kFail;
  const std::size_t notes = check.findings.size() - evidence.findings.size();
  evidence.summary = fmt::format("{}, {} inputs, {} outputs, {} error{}, {} note{}", model::phase_name(check.phase),
                                 check.inputs.size(), check.outputs.size(), evidence.findings.size(),
                                 evidence.findings.size() == 1 ? "" : "s", notes, notes == 1 ? "" : "s");
  evidence.details = model::to_value(check);
  return finish(common, io, std::move(evidence), model::to_text(check));
}

}  // namespace

void add_onnx_contract(CLI::App& root) {
  CLI::App* group = add_group(root, "onnx-contract", "What a decoder graph must take and give.",
                              "  calkit onnx-contract check model.onnx");
  auto opt = std::make_shared<Options>();
  CLI::App* app =
      add_command(*group, "check", "Find tokens, positions, cache and logits in anybody's graph; name what is missing.",
                  "  calkit onnx-contract check onnx/prefill.onnx\n"
                  "  calkit onnx-contract check model.onnx --phase decode --fixed B,P",
                  [opt](const Common& common, Streams io) { return run(*opt, common, io); });
  app->add_option("GRAPH", opt->graph, "an ONNX file, ours or anyone's")->required();
  app->add_option("--phase", opt->phase, "what the graph must be: prefill, decode, or any")
      ->check(CLI::IsMember({"any", "prefill", "decode"}))
      ->type_name("P")
      ->capture_default_str();
  app->add_option("--fixed", opt->fixed, "axes that may be numbers: B, S, P, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember({"B", "S", "P"}))
      ->type_name("AXES");
}

}  // namespace calkit::cli
