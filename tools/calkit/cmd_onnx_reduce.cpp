#include <fmt/format.h>
#include <unistd.h>

#include <ostream>

#include "calkit/base/log.h"
#include "calkit/passes/reduce.h"
#include "command.h"

namespace calkit::cli {
namespace {

struct Options {
  std::string graph, out;
  std::int64_t timeout_s = 60;
  passes::ReduceOptions reduce;
};

Result<ExitCode> run(Options opt, const Common& common, Streams io) {
  auto evidence = manifest::start_evidence("onnx-reduce", common.argv);
  opt.reduce.timeout = std::chrono::seconds(opt.timeout_s);
  opt.reduce.progress = [io](const std::string& what) {
    if (::isatty(STDERR_FILENO) == 1)
      io.err << what << "\n" << std::flush;
    else
      log::debug(what);
  };
  opt.reduce.show_output = log::shown(log::Level::kDebug);
  CALKIT_TRY(const auto report, passes::reduce(opt.graph, opt.out, opt.reduce), "reducing " + opt.graph);
  if (common.evidence_dir != "none") {
    CALKIT_TRY(auto input, manifest::evidence_file("graph", opt.graph));
    evidence.inputs.push_back(std::move(input));
    CALKIT_TRY(auto output, manifest::evidence_file("reduced", opt.out));
    evidence.outputs.push_back(std::move(output));
  }
  evidence.figures = {manifest::counted("nodes_left", report.nodes_after, "nodes", "counted over all levels"),
                      manifest::counted("graphs_tried", report.checks, "graphs", "runs of the check")};
  evidence.verdict = manifest::EvidenceVerdict::kPass;
  evidence.summary =
      fmt::format("{} of {} nodes still fail, {} graphs tried", report.nodes_after, report.nodes_before, report.checks);
  evidence.details = passes::to_value(report);
  return finish(common, io, std::move(evidence), passes::to_text(report));
}

}  // namespace

void add_onnx_reduce(CLI::App& root) {
  auto opt = std::make_shared<Options>();
  CLI::App* app = add_command(root, "onnx-reduce", "Cut a graph that fails down to a small one that fails alike.",
                              "  calkit onnx-reduce model.onnx --out small\n"
                              "  calkit onnx-reduce model.onnx --out small --check 'python run.py {}'",
                              [opt](const Common& common, Streams io) { return run(*opt, common, io); });
  app->add_option("GRAPH", opt->graph, "the ONNX file that fails")->required();
  app->add_option("--out", opt->out, "folder to write: reduced.onnx, reduce.json")->type_name("DIR")->required();
  app->add_option("--check", opt->reduce.command,
                  "shell command that fails for such a graph, {} its path; without it: calkit cannot run the graph")
      ->type_name("COMMAND");
  app->add_option("--timeout", opt->timeout_s, "seconds that one run of the command may take")
      ->check(whole_number(1, 86400))
      ->type_name("S")
      ->capture_default_str();
}

}  // namespace calkit::cli
