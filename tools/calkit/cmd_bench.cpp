#include <ostream>

#include "calkit/base/files.h"
#include "calkit/emulator/emulator.h"
#include "calkit/load/bench.h"
#include "command.h"
#include "device_options.h"

namespace calkit::cli {
namespace {

struct Options {
  std::string package, service, csv, device = "emu";
  std::vector<std::int64_t> prompt_lengths = {16, 128}, output_lengths = {16}, concurrency = {1, 2, 4};
  std::uint64_t requests = 8, warmup = 1, seed = 1;
  double timeout_s = 60;
};

Result<ExitCode> run(const Options& opt, const Common& common, Streams io) {
  auto evidence = manifest::start_evidence("bench", common.argv);
  load::BenchOptions options;
  options.package = opt.package;
  options.service = opt.service;
  options.device = opt.device;
  options.builtin = &emulator::entry;
  options.prompt_lengths = opt.prompt_lengths;
  options.output_lengths = opt.output_lengths;
  options.concurrency = opt.concurrency;
  options.requests = opt.requests;
  options.warmup = opt.warmup;
  options.seed = opt.seed;
  CALKIT_TRY(options.timeout, timeout_from_seconds(opt.timeout_s));
  CALKIT_TRY(const auto report, load::run_bench(options));
  CALKIT_CHECK_OK(add_inputs(evidence, {{"calbin", opt.package}, {"service", opt.service}}));
  if (!opt.csv.empty()) {
    CALKIT_CHECK_OK(write_file(opt.csv, load::to_csv(report)), "writing --csv");
    CALKIT_TRY(auto file, manifest::evidence_file("csv", opt.csv));
    evidence.outputs.push_back(std::move(file));
  }
  load::record(report, evidence);
  return finish(common, io, std::move(evidence), load::to_text(report));
}

}  // namespace

void add_bench(CLI::App& root) {
  auto opt = std::make_shared<Options>();
  CLI::App* app = add_command(
      root, "bench", "Measure TTFT, TPOT and tokens/s of a package under closed-loop load.",
      "  calkit bench tiny.calbin --service tiny.yaml\n"
      "  calkit bench tiny.calbin --service tiny.yaml --prompt-lengths 16,128 --concurrency 1,2,4 --csv bench.csv",
      [opt](const Common& common, Streams io) { return run(*opt, common, io); });
  app->add_option("PACKAGE", opt->package, "the package folder")->required();
  app->add_option("--service", opt->service, "service manifest")->type_name("FILE")->required();
  const auto lengths = [app](const char* name, std::vector<std::int64_t>& into, const char* help) {
    app->add_option(name, into, help)->type_name("N,...")->delimiter(',')->capture_default_str();
  };
  lengths("--prompt-lengths", opt->prompt_lengths, "prompt lengths in tokens");
  lengths("--output-lengths", opt->output_lengths, "output lengths in tokens");
  lengths("--concurrency", opt->concurrency, "clients at once");
  app->add_option("--requests", opt->requests, "measured requests per cell")->type_name("N")->capture_default_str();
  app->add_option("--warmup", opt->warmup, "requests before the clock starts, per cell")
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--seed", opt->seed, "seed of the prompts")->type_name("N")->capture_default_str();
  app->add_option("--csv", opt->csv, "write the figures as CSV")->type_name("FILE");
  add_device_options(*app, opt->device, opt->timeout_s);
}

}  // namespace calkit::cli
