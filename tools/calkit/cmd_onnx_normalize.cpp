#include <fmt/format.h>

#include "calkit/base/log.h"
#include "calkit/passes/normalize.h"
#include "command.h"

namespace calkit::cli {
namespace {

struct Options {
  std::string source, out, baseline;
  std::vector<std::string> operators;
  passes::Options passes;
};

Result<ExitCode> run(Options opt, const Common& common, Streams io) {
  auto evidence = manifest::start_evidence("onnx-normalize", common.argv);
  if (!opt.baseline.empty()) opt.passes.baseline = opt.baseline;
  for (const std::string& file : opt.operators) {
    CALKIT_TRY(auto document, manifest::read_custom_operators(file));
    CALKIT_TRY(auto input, manifest::evidence_file("operators", file));
    opt.passes.operators.push_back(std::move(document));
    evidence.inputs.push_back(std::move(input));
  }
  opt.passes.progress = [](const std::string& what) { log::debug(what); };
  CALKIT_TRY(const auto report, passes::normalize(opt.source, opt.out, opt.passes), "normalising " + opt.source);
  if (common.evidence_dir != "none") {
    CALKIT_TRY(auto input, manifest::evidence_file("onnx", opt.source));
    evidence.inputs.push_back(std::move(input));
    if (report.passed()) {
      CALKIT_TRY(auto output, manifest::evidence_file("normalized", opt.out));
      evidence.outputs.push_back(std::move(output));
    }
  }
  std::uint64_t passes = 0, proofs = 0;
  double worst = 0;
  for (const auto& graph : report.graphs)
    for (const auto& pass : graph.passes) {
      ++passes;
      proofs += pass.proof.has_value();
      if (pass.proof) worst = std::max(worst, pass.proof->worst_nmse());
      if (!pass.holds)
        evidence.findings.push_back(fmt::format("{}: pass '{}' changes the outputs", graph.name, pass.name));
    }
  for (const auto& step : report.steps)
    if (!step.holds) evidence.findings.push_back(fmt::format("{}: decode steps differ from the prefill", step.feed));
  evidence.figures = {{"worst_nmse", worst, "ratio", proofs, "every output after every pass that changed something"}};
  evidence.verdict = report.passed() ? manifest::EvidenceVerdict::kPass : manifest::EvidenceVerdict::kFail;
  evidence.summary = fmt::format("{} graph{}, {} passes, {} proven by running, NMSE at most {:.2g}{}",
                                 report.graphs.size(), report.graphs.size() == 1 ? "" : "s", passes, proofs, worst,
                                 report.passed() ? "" : "; nothing written");
  evidence.details = passes::to_value(report);
  return finish(common, io, std::move(evidence), passes::to_text(report));
}

}  // namespace

void add_onnx_normalize(CLI::App& root) {
  auto opt = std::make_shared<Options>();
  CLI::App* app = add_command(root, "onnx-normalize", "Clean a graph up, pass by pass, and prove each by running it.",
                              "  calkit onnx-normalize onnx --out clean --baseline baseline\n"
                              "  calkit onnx-normalize model.onnx --out clean --opset 21",
                              [opt](const Common& common, Streams io) { return run(*opt, common, io); });
  app->add_option("IN", opt->source, "an ONNX file, or the folder of an export")->required();
  app->add_option("--out", opt->out, "folder to write: raw, normalized, passes.json")->type_name("DIR")->required();
  app->add_option("--baseline", opt->baseline, "frozen baseline whose prompts are run; without it prompts are drawn")
      ->type_name("DIR");
  app->add_option("--prompts", opt->passes.prompts, "how many prompts are run, short and long ones")
      ->check(whole_number(1, 1000))
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--opset", opt->passes.opset, "convert to this version of ai.onnx; without it the version stays")
      ->check(whole_number(7, 28))
      ->type_name("N");
  app->add_option("--operators", opt->operators, "what operators of other domains mean; repeatable")->type_name("FILE");
  app->add_option("--threads", opt->passes.threads, "threads that run the graphs")
      ->check(whole_number(1, 1024))
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace calkit::cli
