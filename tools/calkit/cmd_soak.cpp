#include <ostream>

#include "calkit/emulator/emulator.h"
#include "calkit/load/soak.h"
#include "command.h"
#include "device_options.h"

namespace calkit::cli {
namespace {

struct Options {
  std::string package, service, csv, device = "emu";
  std::uint64_t cycles = 30, duration_s = 0, seed = 1;
  double timeout_s = 60;
};

Result<ExitCode> run(const Options& opt, const Common& common, Streams io) {
  CALKIT_CHECK_OK(check_csv_target(opt.csv, opt.package, opt.service));
  auto evidence = manifest::start_evidence("soak", common.argv);
  load::SoakOptions options;
  options.package = opt.package;
  options.service = opt.service;
  if (!opt.csv.empty()) options.csv = opt.csv;
  options.device = opt.device;
  options.builtin = &emulator::entry;
  options.plan.cycles = opt.cycles;
  if (opt.duration_s > 0) options.plan.duration = std::chrono::seconds(opt.duration_s);
  options.seed = opt.seed;
  CALKIT_TRY(options.timeout, timeout_from_seconds(opt.timeout_s));
  CALKIT_TRY(const auto report, load::run_soak(options));
  CALKIT_CHECK_OK(add_inputs(evidence, {{"calbin", opt.package}, {"service", opt.service}}));
  if (!opt.csv.empty()) {
    CALKIT_TRY(auto file, manifest::evidence_file("csv", opt.csv));
    evidence.outputs.push_back(std::move(file));
  }
  load::record(report, evidence);
  return finish(common, io, std::move(evidence), load::to_text(report));
}

}  // namespace

void add_soak(CLI::App& root) {
  auto opt = std::make_shared<Options>();
  CLI::App* app = add_command(root, "soak", "Load, run and unload a package in cycles: does anything stay behind?",
                              "  calkit soak tiny.calbin --service tiny.yaml --cycles 30\n"
                              "  calkit soak tiny.calbin --service tiny.yaml --duration 3600 --csv soak.csv",
                              [opt](const Common& common, Streams io) { return run(*opt, common, io); });
  app->add_option("PACKAGE", opt->package, "the package folder")->required();
  app->add_option("--service", opt->service, "service manifest")->type_name("FILE")->required();
  CLI::Option* cycles =
      add_number(*app, "--cycles", opt->cycles, 1, 10000000, "cycles; 30 at least for a verdict on memory");
  cycles->capture_default_str();
  constexpr std::uint64_t kMostSeconds = 31 * 86400;
  add_number(*app, "--duration", opt->duration_s, 1, kMostSeconds, "run this long instead")
      ->type_name("SECONDS")
      ->excludes(cycles);
  add_number(*app, "--seed", opt->seed, 0, kMostSeed, "seed of the canary prompts")->capture_default_str();
  app->add_option("--csv", opt->csv, "write a row per cycle (FILE.partial while it runs)")->type_name("FILE");
  add_device_options(*app, opt->device, opt->timeout_s);
}

}  // namespace calkit::cli
