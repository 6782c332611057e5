#include <fmt/format.h>

#include "calkit/base/log.h"
#include "calkit/passes/fuse.h"
#include "command.h"

namespace calkit::cli {
namespace {

struct Options {
  std::string source, out, baseline, quantize = "none";
  bool list = false;
  passes::FuseOptions passes;
};

Result<ExitCode> list(const Common& common, Streams io) {
  io.out << (common.json ? to_json(passes::catalogue_value()) + "\n" : passes::catalogue_text());
  return ExitCode::kOk;
}

void judge(const passes::FuseReport& report, manifest::Evidence& evidence) {
  std::uint64_t calls = 0, proofs = 0, unproven = 0;
  double worst = 0;
  for (const auto& graph : report.graphs) {
    for (const auto& fusion : graph.fusions) {
      for (const auto& [kernel, count] : fusion.kernels) calls += count;
      proofs += fusion.proof.has_value();
      unproven += !fusion.proof && !fusion.kernels.empty();
      if (fusion.proof) worst = std::max(worst, fusion.proof->worst_nmse());
      if (!fusion.holds)
        evidence.findings.push_back(fmt::format("{}: fusion '{}' changes the outputs", graph.name, fusion.id));
    }
    for (const auto& kernel : graph.kernels)
      if (!kernel.holds)
        evidence.findings.push_back(fmt::format("{}: {} is out of its bound", graph.name, kernel.kernel));
  }
  if (proofs > 0)
    evidence.figures = {
        {"worst_nmse", worst, "ratio", proofs, "every output after every fusion, against the graph before"}};
  evidence.verdict = report.passed() ? manifest::EvidenceVerdict::kPass : manifest::EvidenceVerdict::kFail;
  evidence.summary = fmt::format("{} graph{}, {} fused operators, {} fusions proven by running{}{}{}",
                                 report.graphs.size(), report.graphs.size() == 1 ? "" : "s", calls, proofs,
                                 proofs > 0 ? fmt::format(", NMSE at most {:.2g}", worst) : "",
                                 unproven > 0 ? fmt::format(", {} not proven: no weights", unproven) : "",
                                 report.passed() ? "" : "; nothing written");
}

Result<ExitCode> run(Options opt, const Common& common, Streams io) {
  if (opt.list) return list(common, io);
  for (const auto& [given, name] : {std::pair{&opt.source, "IN"}, {&opt.out, "--out"}})
    if (given->empty())
      return Error(ErrorKind::kUsage, fmt::format("{} is required", name), "calkit onnx-fuse onnx --out fused");
  auto evidence = manifest::start_evidence("onnx-fuse", common.argv);
  if (!opt.baseline.empty()) opt.passes.baseline = opt.baseline;
  opt.passes.w8a8 = opt.quantize == "w8a8";
  opt.passes.progress = [](const std::string& what) { log::debug(what); };
  CALKIT_TRY(const auto report, passes::fuse(opt.source, opt.out, opt.passes), "fusing " + opt.source);
  if (common.evidence_dir != "none") {
    CALKIT_TRY(auto input, manifest::evidence_file("onnx", opt.source));
    evidence.inputs.push_back(std::move(input));
    if (report.passed()) {
      CALKIT_TRY(auto output, manifest::evidence_file("fused", opt.out));
      evidence.outputs.push_back(std::move(output));
    }
  }
  judge(report, evidence);
  evidence.details = passes::to_value(report);
  return finish(common, io, std::move(evidence), passes::to_text(report));
}

}  // namespace

void add_onnx_fuse(CLI::App& root) {
  auto opt = std::make_shared<Options>();
  CLI::App* app =
      add_command(root, "onnx-fuse", "Fuse operators that one kernel takes together, and prove each by running it.",
                  "  calkit onnx-fuse onnx --out fused --baseline baseline\n"
                  "  calkit onnx-fuse onnx --out fused --quantize w8a8 --top-k 20\n"
                  "  calkit onnx-fuse --list",
                  [opt](const Common& common, Streams io) { return run(*opt, common, io); });
  app->add_option("IN", opt->source, "an ONNX file of opset 23 or later, or the folder of an export");
  app->add_option("--out", opt->out, "folder to write: graphs, goldens, fusion.json")->type_name("DIR");
  app->add_flag("--list", opt->list, "print the catalogue of fusions");
  app->add_option("--quantize", opt->quantize, "quantise the projections first: none, w8a8")
      ->check(CLI::IsMember({"none", "w8a8"}))
      ->type_name("SCHEME")
      ->capture_default_str();
  app->add_option("--only", opt->passes.only, "fusions to apply, by id; may be repeated. Default: all")
      ->type_name("ID");
  app->add_option("--top-k", opt->passes.top_k, "the head gives the best K tokens instead of all logits")
      ->check(whole_number(1, 1 << 20))
      ->type_name("K");
  app->add_option("--baseline", opt->baseline, "frozen baseline whose prompts are run; without it prompts are drawn")
      ->type_name("DIR");
  app->add_option("--prompts", opt->passes.prompts, "how many prompts are run, short and long ones")
      ->check(whole_number(1, 1000))
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--repeats", opt->passes.repeats, "runs that each kernel is timed over; 0: not timed")
      ->check(whole_number(0, 1000))
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--threads", opt->passes.threads, "threads that run the graphs")
      ->check(whole_number(1, 1024))
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace calkit::cli
