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
  std::string prompt_lengths = "16,128", output_lengths = "16", concurrency = "1,2,4";
  std::uint64_t requests = 8, warmup = 1, seed = 1;
  double timeout_s = 60;
};

Result<ExitCode> run(const Options& opt, const Common& common, Streams io) {
  CALKIT_CHECK_OK(check_csv_target(opt.csv, opt.package, opt.service));
  auto evidence = manifest::start_evidence("bench", common.argv);
  load::BenchOptions options;
  options.package = opt.package;
  options.service = opt.service;
  options.device = opt.device;
  options.builtin = &emulator::entry;
  options.prompt_lengths = numbers_of(opt.prompt_lengths);
  options.output_lengths = numbers_of(opt.output_lengths);
  options.concurrency = numbers_of(opt.concurrency);
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
  const auto list = [app](const char* name, std::string& into, std::uint64_t most, const char* help) {
    app->add_option(name, into, help)->type_name("N,...")->check(whole_numbers(1, most))->capture_default_str();
  };
  constexpr std::uint64_t kMostTokens = (1ull << 31) - 1;
  list("--prompt-lengths", opt->prompt_lengths, kMostTokens, "prompt lengths in tokens");
  list("--output-lengths", opt->output_lengths, kMostTokens, "output lengths in tokens");
  list("--concurrency", opt->concurrency, 1024, "clients at once");
  add_number(*app, "--requests", opt->requests, 1, 1000000, "measured requests per cell")->capture_default_str();
  add_number(*app, "--warmup", opt->warmup, 0, 1000000, "requests before the clock starts, per cell")
      ->capture_default_str();
  add_number(*app, "--seed", opt->seed, 0, kMostSeed, "seed of the prompts")->capture_default_str();
  app->add_option("--csv", opt->csv, "write the figures as CSV")->type_name("FILE");
  add_device_options(*app, opt->device, opt->timeout_s);
}

}  // namespace calkit::cli
